// The console: pages over the public API.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { Approvals } from './pages/approvals';
import { EventPage, HistoryPage } from './pages/history';
import { NewTask } from './pages/new-task';
import { isTab, RunPage } from './pages/run';
import { isPart, SystemPage } from './pages/system';
import { TaskPage } from './pages/task';
import { Tasks } from './pages/tasks';
import { startFeed } from './state/feed';
import { inboxCount, watchInbox } from './state/inbox';
import { path, title } from './state/router';
import { watchTasks } from './state/tasks';
import './state/theme';
import { Nowhere } from './ui/basics';
import { listenToKeys } from './ui/keys';
import { Shell } from './ui/shell';

function Page() {
  const parts = path.value.split('/').filter(Boolean).map(decodeURIComponent);
  const [first, task, runs, run, tab] = parts;
  if (first === undefined || (first === 'tasks' && !task)) return <Tasks />;
  if (first === 'approvals' && !task) return <Approvals />;
  if (first === 'history' && !task) return <HistoryPage />;
  if (first === 'history' && /^[1-9]\d*$/.test(task!) && !runs) return <EventPage key={task} sequence={Number(task)} />;
  if (first === 'system' && isPart(task ?? '') && !runs) return <SystemPage part={task ?? ''} />;
  if (first === 'tasks' && task === 'new') return <NewTask />;
  if (first === 'tasks' && runs === undefined) return <TaskPage key={task} id={task!} />;
  if (first === 'tasks' && runs === 'runs' && run && isTab(tab ?? 'timeline')) return <RunPage key={run} taskId={task!} runId={run} tab={tab ?? 'timeline'} />;
  return <Nowhere />;
}

effect(() => {
  const waiting = inboxCount.value > 0 ? `(${inboxCount.value}) ` : '';
  document.title = waiting + (title.value ? `${title.value} – Hecate` : 'Hecate');
});

watchTasks();
watchInbox();
startFeed();
listenToKeys();
render(<Shell><Page /></Shell>, document.getElementById('app')!);
