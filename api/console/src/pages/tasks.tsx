// All tasks: what waits for a person first, then the newest.
import { computed } from '@preact/signals';
import type { Task } from '../api/types.gen';
import { navigate, runPath, taskPath } from '../state/router';
import { more, older, search, show, shows, tasks, tasksFailed, type Show } from '../state/tasks';
import { Button, Empty, Lasting, Loading, Problem, Status, Time, utc } from '../ui/basics';
import { baseName, many, nameOf, word } from '../ui/format';
import { Icon } from '../ui/icon';
import { useTitle } from '../ui/title';
import { WindowList } from '../ui/window';

const sorted = computed(() => {
  const rank = (t: Task) => (t.status === 'awaiting_approval' ? 0 : t.status === 'running' || t.status === 'queued' ? 1 : 2);
  return tasks.value?.toSorted((a, b) => rank(a) - rank(b)); // stable: newest first among equals
});

const names: Record<Show, string> = {
  all: 'All', waiting: 'Waiting for you', open: 'Open', completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled', not_started: 'Not started',
};

export function Tasks() {
  useTitle('Tasks');
  return (
    <div class="page">
      <div class="page-head">
        <h1>Tasks</h1>
        <a class="button primary" href="/tasks/new"><Icon name="plus" /> New task <kbd aria-hidden="true">n</kbd></a>
      </div>
      <div class="bar">
        <div class="filters" role="group" aria-label="Show">
          {(Object.keys(shows) as Show[]).map((f) => (
            <button key={f} type="button" class="filter" aria-pressed={show.value === f} onClick={() => navigate(f === 'all' ? '/tasks' : `/tasks?show=${f}`, true)}>
              {names[f]}
            </button>
          ))}
        </div>
        <label class="search">
          <Icon name="search" />
          <input type="search" data-search placeholder="Search" maxLength={200} aria-label="Search tasks" value={search.value} onInput={(e) => (search.value = e.currentTarget.value)} />
          <kbd aria-hidden="true">/</kbd>
        </label>
      </div>
      {tasksFailed.value && <Problem>{tasksFailed.value}</Problem>}
      <List />
    </div>
  );
}

function List() {
  const all = sorted.value;
  if (!all) return tasksFailed.value ? null : <Loading what="tasks" />;
  if (all.length === 0 && !more.value) {
    if (show.value !== 'all' || search.value.trim()) return <Empty title="No task matches">Change the search or <a href="/tasks" onClick={() => (search.value = '')}>show all</a>.</Empty>;
    return <Empty title="No task yet">A task says what is wanted; a run is one attempt at it. <a href="/tasks/new">Write the first one</a>.</Empty>;
  }
  return (
    <>
      <WindowList label="Tasks" items={all} keyOf={(t) => t.id} guess={53} row={(t) => <Row t={t} />} />
      {more.value && (
        <p class="more-row">
          {many(all.length, 'task')} so far. <Button kind="quiet" act={older}>Show older</Button>
        </p>
      )}
    </>
  );
}

function Row({ t }: { t: Task }) {
  const busy = t.status === 'running' || t.status === 'queued';
  return (
    <a class={`task-row ${t.status}`} data-item href={t.latest_run_id ? runPath(t.id, t.latest_run_id) : taskPath(t.id)}>
      <Status of={t.status} />
      <span class="task-title">
        <strong title={nameOf(t)}>{nameOf(t)}</strong>
        {t.last_error && t.status === 'failed' && <span class="task-error" title={t.last_error}>{t.last_error}</span>}
      </span>
      <span class="task-meta">
        <span>{word(t.execution_kind)}</span>
        {t.working_directory && <span title={t.working_directory}>{baseName(t.working_directory) || t.working_directory}</span>}
        {t.latest_model && <span>{t.latest_model}</span>}
      </span>
      <span class="task-time">{busy && t.started_at ? <span title={`Started ${utc(t.started_at)}`}>started <Lasting from={t.started_at} /> ago</span> : <>{t.updated_at ? 'updated' : 'created'} <Time at={t.updated_at ?? t.created_at} /></>}</span>
    </a>
  );
}
