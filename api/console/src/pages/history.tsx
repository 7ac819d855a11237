// The history: the events of a run, of a task or of everything, and single ones. The address has the filters.
import { useEffect, useState } from 'preact/hooks';
import { inOneSentence } from '../api/client';
import { EventDetail } from '../history/event';
import { EventLog } from '../history/log';
import { filterOf, type Filter } from '../state/filter';
import { readEvent } from '../state/history';
import { navigate, path, query, runPath, taskPath } from '../state/router';
import type { RunStore } from '../state/run';
import { Empty, Loading, Problem } from '../ui/basics';
import { useTitle } from '../ui/title';

/** useFilter keeps a filter in the address. */
function useFilter(): [Filter, (change: Partial<Filter>) => void] {
  const q = query.value;
  const filter = filterOf(q);
  const set = (change: Partial<Filter>) => {
    const next = new URLSearchParams(q);
    for (const [name, value] of Object.entries(change)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    navigate(path.value + (next.size > 0 ? `?${next}` : ''), true);
  };
  return [filter, set];
}

export function HistoryPage() {
  useTitle('History');
  const [filter, set] = useFilter();
  const task = query.value.get('task') ?? '';
  return (
    <div class="page">
      <div class="page-head">
        <h1>History</h1>
      </div>
      {task && <p class="log-scope">Of one task: <a href={taskPath(task)}><code>{task}</code></a> · <a href="/history">All</a></p>}
      <EventLog task={task} run="" filter={filter} set={set} />
    </div>
  );
}

/** RunHistory is the history of a run, in its page. */
export function RunHistory({ store }: { store: RunStore }) {
  const [filter, set] = useFilter();
  const run = store.run.value!;
  return <EventLog task={run.task_id} run={run.id} filter={filter} set={set} />;
}

export function EventPage({ sequence }: { sequence: number }) {
  const [found, setFound] = useState<Awaited<ReturnType<typeof readEvent>> | 'none'>();
  const [failed, setFailed] = useState('');
  useTitle(`Event ${sequence}`);
  useEffect(() => {
    readEvent(sequence).then((e) => setFound(e ?? 'none'), (e) => setFailed(inOneSentence(e)));
  }, [sequence]);
  if (failed) return <div class="page"><Problem>{failed}</Problem></div>;
  if (!found) return <div class="page"><Loading what="the event" /></div>;
  if (found === 'none') return <Empty title="There is no such event">It may be of a task that was deleted. <a href="/history">History</a></Empty>;
  const e = found;
  return (
    <div class="page narrow">
      <nav class="crumbs" aria-label="Where you are"><a href="/history">History</a>{e.task_id && e.run_id && <> / <a href={runPath(e.task_id, e.run_id, 'history')}>Run</a></>}</nav>
      <h1>{e.type}</h1>
      <EventDetail event={e} />
    </div>
  );
}
