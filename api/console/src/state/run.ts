// One run as it is: pictures and events of its stream, and what its events say in full.
import { signal, type Signal } from '@preact/signals';
import { ask, get, inOneSentence, type Refused } from '../api/client';
import { follow, type Link } from '../api/stream';
import type { Approval, Event, Frame, Run, Task } from '../api/types.gen';
import { fold, nothing, type Facts } from './facts';
import { onNews, soon } from './feed';

export interface RunStore {
  task: Signal<Task | undefined>;
  /** runs are all runs of the task, oldest first. */
  runs: Signal<Run[]>;
  /** run is as the newest frame shows it. */
  run: Signal<Run | undefined>;
  /** picture is the newest frame that shows steps, artifacts, approvals and activity. */
  picture: Signal<Frame | undefined>;
  facts: Signal<Facts>;
  /** told is whether the events that there were at first are in the facts. */
  told: Signal<boolean>;
  link: Signal<Link>;
  failed: Signal<string>;
  close(): void;
}

/** openRun follows a run until it is closed. */
export function openRun(taskId: string, runId: string): RunStore {
  const store: RunStore = {
    task: signal(undefined), runs: signal([]), run: signal(undefined), picture: signal(undefined),
    facts: signal(nothing()), told: signal(false), link: signal('connecting'), failed: signal(''), close: () => undefined,
  };
  let stopStream = () => {};
  let closed = false;
  const at = `/tasks/${taskId}/runs/${runId}`;
  const fail = (e: unknown) => {
    if (!closed) store.failed.value = inOneSentence(e);
  };

  const readEvents = eventReader(at, (events) => {
    if (!closed) store.facts.value = fold(store.facts.value, events);
  });
  const wantEvents = soon(60, () => void readEvents().catch(fail));

  const loadTask = async () => {
    const [task, runs] = await Promise.all([get<Task>(`/tasks/${taskId}`), get<Run[]>(`/tasks/${taskId}/runs`)]);
    if (closed) return;
    store.task.value = task;
    store.runs.value = runs.reverse();
  };
  const wantTask = soon(150, () => void loadTask().catch(fail));

  let newest = 0;
  const take = (f: Frame) => {
    if (f.sequence < newest) return;
    if (f.sequence > newest) wantEvents();
    newest = f.sequence;
    store.failed.value = '';
    store.run.value = f.run;
    if (f.steps || f.activity || f.event_type === 'snapshot') store.picture.value = f;
  };
  // Frames of old events are of no use: the picture shows where they led. So the stream begins at its end.
  const connect = (cursor: string) => {
    stopStream();
    stopStream = follow(at + '/stream', cursor, {
      message: (m) => {
        if (m.event === 'error') return;
        take((JSON.parse(m.data) as { data: Frame }).data);
      },
      link: (l) => {
        store.link.value = l;
        // What was asked for while the server was away did not come.
        if (l === 'live') wantEvents();
      },
      refused: (e: Refused) => fail(e),
    });
  };
  const begin = async () => {
    void loadTask().catch(fail);
    void readEvents().catch(fail).finally(() => (store.told.value = true));
    const now = await ask<Run>('GET', at);
    if (closed) return;
    store.run.value = now.data;
    connect(now.position);
  };
  const stopNews = onNews((e) => {
    if (e && e.task_id !== taskId) return;
    if (!e && !store.run.value) return void begin().catch(fail); // nothing came of the first attempt
    if (!e || /^(task|run|approval)\./.test(e.type)) wantTask();
    // The stream of an ended run is over, but its patches may still be applied or taken back.
    if (store.link.value === 'ended' && (!e || e.run_id === runId) && !closed) connect(String(newest));
  });
  // Browsers allow few connections to a server: pages that nobody sees do without this one.
  const seen = () => {
    if (document.hidden) stopStream();
    else if (store.link.value !== 'ended') connect(String(newest));
  };
  document.addEventListener('visibilitychange', seen);
  begin().catch(fail);

  store.close = () => {
    closed = true;
    stopStream();
    stopNews();
    document.removeEventListener('visibilitychange', seen);
  };
  return store;
}

/** eventReader returns what reads the events that are not read yet. */
function eventReader(at: string, take: (events: Event[]) => void): () => Promise<void> {
  const pageMax = 500;
  let last = 0;
  let reading: Promise<void> | undefined;
  let wanted = false;
  const read = async () => {
    while (wanted) {
      wanted = false;
      const events = await get<Event[]>(`${at}/events?after_sequence=${last}`);
      if (events.length > 0) {
        last = events[events.length - 1]!.sequence;
        take(events);
      }
      // What is asked for while a page is on its way may not be in it.
      wanted ||= events.length === pageMax;
    }
  };
  return () => {
    wanted = true;
    return (reading ??= read().finally(() => (reading = undefined)));
  };
}

/** waiting are the approvals that the run waits for. */
export function waiting(store: RunStore): Approval[] {
  return hasEnded(store.run.value) ? [] : (store.picture.value?.approvals ?? []).filter((a) => a.status === 'pending');
}

const terminal = new Set(['completed', 'failed', 'cancelled']);

export function hasEnded(r: Run | undefined): boolean {
  return r !== undefined && terminal.has(r.status);
}
