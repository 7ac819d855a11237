// A run: what it is, what it waits for, and its tabs.
import { useEffect, useState } from 'preact/hooks';
import { Changes } from '../run/changes';
import { Chain } from '../run/chain';
import { Conversation } from '../run/conversation';
import { Actions } from '../run/actions';
import { Figures } from '../run/figures';
import { Restore } from '../run/restore';
import { Take } from '../run/take';
import { Banner, Timeline } from '../run/timeline';
import { TaskFacts } from '../run/task-facts';
import { RunHistory } from './history';
import { navigate, runPath } from '../state/router';
import { openRun, type RunStore } from '../state/run';
import { Facts, Loading, Missing, Problem, Status, Time } from '../ui/basics';
import { nameOf } from '../ui/format';
import { useKeys } from '../ui/keys';
import { Tabs } from '../ui/tabs';
import { useTitle } from '../ui/title';

const tabs = ['timeline', 'conversation', 'changes', 'take', 'restore', 'history'] as const;

/** isTab reports whether a run has a view of that name. */
export const isTab = (name: string) => tabs.some((t) => t === name);

export function RunPage({ taskId, runId, tab }: { taskId: string; runId: string; tab: string }) {
  const [store, setStore] = useState<RunStore>();
  useEffect(() => {
    const s = openRun(taskId, runId);
    setStore(s);
    return s.close;
  }, [taskId, runId]);
  const show = (t: string) => navigate(runPath(taskId, runId, t === 'timeline' ? '' : t), true);
  useKeys({ '1': () => show('timeline'), '2': () => show('conversation'), '3': () => show('changes'), '4': () => show('take'), '5': () => show('restore'), '6': () => show('history') });
  const run = store?.run.value;
  const task = store?.task.value;
  useTitle(task ? nameOf(task) : '');
  // Whole or not at all: a head that grows would move what one is about to click.
  if (!store || !run || !task) return <div class="page">{store?.failed.value ? <Missing>{store.failed.value}</Missing> : <Loading what="the run" />}</div>;
  return (
    <div class="page run-page">
      <Head store={store} />
      {store.failed.value && <Problem>{store.failed.value}</Problem>}
      <Banner store={store} />
      <div class="run-body">
        <section class="run-main" aria-label="Run">
          <Tabs
            label="Views of the run"
            tabs={tabs.map((t) => ({
              href: runPath(taskId, runId, t === 'timeline' ? '' : t), current: t === tab,
              children: <>{t[0]!.toUpperCase() + t.slice(1)}{t === 'changes' && <Count of={store.picture.value?.artifacts?.filter((a) => a.kind === 'patch' && a.status !== 'reverted').length} />}</>,
            }))}
          />
          <View tab={tab} store={store} />
        </section>
        <Aside store={store} />
      </div>
    </div>
  );
}

function View({ tab, store }: { tab: string; store: RunStore }) {
  switch (tab) {
    case 'conversation': return <Conversation store={store} />;
    case 'changes': return <Changes store={store} />;
    case 'take': return <Take store={store} />;
    case 'restore': return <Restore store={store} />;
    case 'history': return <RunHistory store={store} />;
  }
  return <Timeline store={store} />;
}

function Count({ of }: { of: number | undefined }) {
  return of ? <span class="count" title="Changes that are applied or proposed; without those that were taken back">{of}</span> : null;
}

function Head({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const task = store.task.value;
  return (
    <>
      <nav class="crumbs" aria-label="Where you are"><a href="/tasks">Tasks</a></nav>
      <div class="page-head">
        <div class="run-title">
          <h1 title={task && nameOf(task)}>{task ? nameOf(task) : '…'}</h1>
          <p class="run-state" aria-live="polite">
            <Status of={run.status} /> <span class="muted">run {run.number}</span>
            {run.last_error && run.status !== 'completed' && <span class="error-text">{run.last_error}</span>}
          </p>
        </div>
        <Actions store={store} />
      </div>
      {(run.warnings ?? []).map((w) => <p key={w.code} class="warn">{w.message}</p>)}
      {run.waiting_reason && <p class="warn">It waits for a worker that reaches its workspace.</p>}
      <Chain runs={store.runs.value} at={run} />
    </>
  );
}

function Aside({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const task = store.task.value;
  return (
    <aside class="run-side" aria-label="About the run">
      <Figures run={run} runs={store.runs.value} calls={[...store.facts.value.modelCalls.values()]} steps={store.picture.value?.steps ?? []} />
      {task && (
        <section class="card">
          <h2>Task</h2>
          <TaskFacts task={task} />
        </section>
      )}
      <section class="card">
        <h2>Run</h2>
        <Facts
          of={[
            ['Model', run.model], ['Provider', run.provider], ['Began', <Time at={run.started_at} />], ['Ended', run.finished_at && <Time at={run.finished_at} />],
            ['Workspace', run.workspace_path && <code>{run.workspace_path}</code>], ['Worker', run.worker_node && <code>{run.worker_node}</code>],
            ['Run', <code>{run.id}</code>], ['Task', <code>{run.task_id}</code>], ['Trace', run.trace_id && <code>{run.trace_id}</code>],
          ]}
        />
      </section>
    </aside>
  );
}
