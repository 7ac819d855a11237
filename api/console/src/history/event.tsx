// One event in full: who caused it, what it follows, and what was recorded.
import { useEffect, useState } from 'preact/hooks';
import { get } from '../api/client';
import type { Event, EventCauses } from '../api/types.gen';
import { byWord, followed, type Before } from '../state/follows';
import { nearby } from '../state/history';
import { say } from '../state/notices';
import { runPath } from '../state/router';
import { Button, Facts, Time } from '../ui/basics';
import { Code } from '../ui/code';

export function EventDetail({ event: e }: { event: Event }) {
  const { chain, same } = useOthers(e);
  const raw = JSON.stringify(e, null, 2);
  return (
    <div class="event-detail">
      <Facts
        of={[
          ['Type', <code>{e.type}</code>], ['When', <><Time at={e.occurred_at} exact /> <span class="muted">{e.occurred_at}</span></>], ['By', byWord(e)],
          ['Caused by', e.caused_by && (chain ? <Links of={chain.causes} /> : <a href={`/history/${e.caused_by}`}>{e.caused_by}</a>)],
          ['Led to', chain && chain.effects.length > 0 && <Links of={chain.effects} more={chain.next_after_sequence !== undefined} />],
          ['Follows', same && <><a href={eventPath(same.event)}>{same.event.type} {same.event.sequence}</a> <span class="muted">{same.same}</span></>],
          ['Run', e.run_id && e.task_id && <a href={runPath(e.task_id, e.run_id)}><code>{e.run_id}</code></a>],
          ['Task', e.task_id && <a href={`/history?task=${e.task_id}`} title="History of the task"><code>{e.task_id}</code></a>],
          ['Event', <><a href={eventPath(e)}>{e.sequence}</a> <code class="muted">{e.event_id}</code></>],
          ['Hash', e.hash && <code>{e.hash}</code>], ['Trace', e.trace_id && <code>{e.trace_id}</code>],
        ]}
      />
      <Code text={raw} language="json" label="As the API gives it" lines={60} />
      {navigator.clipboard && (
        <div class="actions">
          <Button kind="quiet" act={() => copy(location.origin + eventPath(e))}>Copy link</Button>
          <Button kind="quiet" act={() => copy(raw)}>Copy JSON</Button>
        </div>
      )}
    </div>
  );
}

export const eventPath = (e: Event) => `/history/${e.sequence}`;

/** Links leads to events; of many to the first ones. */
function Links({ of, more }: { of: Event[]; more?: boolean }) {
  const [all, setAll] = useState(false);
  const shown = all ? of : of.slice(0, few);
  return (
    <ul class="causes">
      {shown.map((e) => <li key={e.sequence}><a href={eventPath(e)}>{e.type} {e.sequence}</a></li>)}
      {shown.length < of.length && <li><button type="button" class="more" onClick={() => setAll(true)}>{of.length - shown.length} more</button></li>}
      {all && more && <li class="muted">and later ones</li>}
    </ul>
  );
}

const few = 4;
const effectsMax = 50;

interface Others {
  chain?: EventCauses;
  same?: Before | undefined;
}

/** useOthers looks up what the event came of. Without it the rest can be read all the same. */
function useOthers(e: Event): Others {
  const [others, setOthers] = useState<Others>({});
  useEffect(() => {
    let here = true;
    const add = (found: Others) => here && setOthers((old) => ({ ...old, ...found }));
    get<EventCauses>(`/audit/events/${e.sequence}/causes?limit=${effectsMax}`).then((chain) => add({ chain }), () => undefined);
    if (e.run_id) nearby(e).then((earlier) => add({ same: followed(e, earlier) }), () => undefined);
    return () => void (here = false);
  }, [e.sequence]);
  return others;
}

async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(() => say('Copied.'), () => say('The browser does not let pages copy.', true));
}
