// One event in full: what it is about, what it follows, and what was recorded.
import { useEffect, useState } from 'preact/hooks';
import type { Event } from '../api/types.gen';
import { by, followed, type Before } from '../state/follows';
import { runBefore } from '../state/history';
import { say } from '../state/notices';
import { runPath } from '../state/router';
import { Button, Facts, Time } from '../ui/basics';
import { Code } from '../ui/code';

export function EventDetail({ event: e, before }: { event: Event; before?: Event[] }) {
  const follows = useFollowed(e, before);
  const raw = JSON.stringify(e, null, 2);
  return (
    <div class="event-detail">
      <Facts
        of={[
          ['Type', <code>{e.type}</code>], ['When', <><Time at={e.occurred_at} exact /> <span class="muted">{e.occurred_at}</span></>], ['By', by(e)],
          ['Run', e.run_id && e.task_id && <a href={runPath(e.task_id, e.run_id)}><code>{e.run_id}</code></a>],
          ['Task', e.task_id && <a href={`/history?task=${e.task_id}`} title="History of the task"><code>{e.task_id}</code></a>],
          ['Event', <><a href={eventPath(e)}>{e.sequence}</a> <code class="muted">{e.event_id}</code></>],
          ['Follows', follows && <><a href={eventPath(follows.event)}>{follows.event.type} {follows.event.sequence}</a> {follows.same && <span class="muted">{follows.same}</span>}</>],
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

function useFollowed(e: Event, before: Event[] | undefined): Before | undefined {
  const [earlier, setEarlier] = useState(before ?? []);
  useEffect(() => {
    let here = true;
    // Without it the rest can be read all the same.
    if (!before) runBefore(e).then((events) => here && setEarlier(events), () => undefined);
    return () => void (here = false);
  }, [e.sequence]);
  return followed(e, before ?? earlier);
}

async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text).then(() => say('Copied.'), () => say('The browser does not let pages copy.', true));
}
