// All tasks: what waits for a person first, then the newest.
import { computed, signal } from '@preact/signals';
import type { Task } from '../api/types.gen';
import { navigate, query, runPath, taskPath } from '../state/router';
import { loadTasks, page, tasks, tasksFailed } from '../state/tasks';
import { Button, Empty, Lasting, Loading, Problem, Status, Time, utc } from '../ui/basics';
import { baseName, many, nameOf, word } from '../ui/format';
import { Icon } from '../ui/icon';
import { useTitle } from '../ui/title';
import { WindowList } from '../ui/window';

const filters = ['all', 'waiting', 'open', 'completed', 'failed', 'cancelled', 'not_started'] as const;
type Filter = (typeof filters)[number];

const search = signal('');

function matches(t: Task, filter: Filter): boolean {
  switch (filter) {
    case 'all': return true;
    case 'waiting': return t.status === 'awaiting_approval';
    case 'open': return t.status === 'queued' || t.status === 'running' || t.status === 'awaiting_approval';
  }
  return t.status === filter;
}

const filter = computed<Filter>(() => {
  const wanted = query.value.get('show') as Filter;
  return filters.includes(wanted) ? wanted : 'all';
});

const shown = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (tasks.value ?? []).filter((t) => {
    const text = `${nameOf(t)} ${t.prompt} ${t.id} ${t.working_directory ?? ''} ${t.latest_model ?? ''}`.toLowerCase();
    return matches(t, filter.value) && words.every((w) => text.includes(w));
  });
  const rank = (t: Task) => (t.status === 'awaiting_approval' ? 0 : t.status === 'running' || t.status === 'queued' ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b)); // stable: newest first among equals
});

const names: Record<Filter, string> = {
  all: 'All', waiting: 'Waiting for you', open: 'Open', completed: 'Completed', failed: 'Failed', cancelled: 'Cancelled', not_started: 'Not started',
};

export function Tasks() {
  useTitle('Tasks');
  const all = tasks.value;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Tasks</h1>
        <a class="button primary" href="/tasks/new"><Icon name="plus" /> New task <kbd aria-hidden="true">n</kbd></a>
      </div>
      <div class="bar">
        <div class="filters" role="group" aria-label="Show">
          {filters.map((f) => {
            const n = (all ?? []).filter((t) => matches(t, f)).length;
            return (
              <button
                key={f}
                type="button"
                class="filter"
                aria-pressed={filter.value === f}
                disabled={n === 0 && f !== 'all' && filter.value !== f}
                onClick={() => navigate(f === 'all' ? '/tasks' : `/tasks?show=${f}`, true)}
              >
                {names[f]} <span class="count">{all ? n : ''}</span>
              </button>
            );
          })}
        </div>
        <label class="search">
          <Icon name="search" />
          <input type="search" data-search placeholder="Search" aria-label="Search tasks" value={search.value} onInput={(e) => (search.value = e.currentTarget.value)} />
          <kbd aria-hidden="true">/</kbd>
        </label>
      </div>
      {tasksFailed.value && <Problem>{tasksFailed.value}</Problem>}
      <List all={all} />
    </div>
  );
}

function List({ all }: { all: Task[] | undefined }) {
  if (!all) return tasksFailed.value ? null : <Loading what="tasks" />;
  if (all.length === 0) {
    return <Empty title="No task yet">A task says what is wanted; a run is one attempt at it. <a href="/tasks/new">Write the first one</a>.</Empty>;
  }
  if (shown.value.length === 0) return <Empty title="No task matches">Change the search or <a href="/tasks">show all</a>.</Empty>;
  return (
    <>
      <WindowList label="Tasks" items={shown.value} keyOf={(t) => t.id} guess={53} row={(t) => <Row t={t} />} />
      {page.value > 0 && all.length >= page.value && (
        <p class="more-row">
          The newest {many(page.value, 'task')}. <Button kind="quiet" act={() => ((page.value = 0), loadTasks())}>Show all</Button>
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
