// The one stream of what happens in all runs. It carries news; what it is about is asked for.
import { computed, signal } from '@preact/signals';
import { ask } from '../api/client';
import { follow, pause, type Link } from '../api/stream';
import type { Event, Task } from '../api/types.gen';
import { tokens } from './session';

export const link = signal<Link>('connecting');

/** offline is whether the server cannot be reached: what is asked of it then is lost. */
export const offline = computed(() => link.value === 'lost' || link.value === 'ended');

type Listener = (e: Event | undefined) => void;
const listeners = new Set<Listener>();

/** onNews calls back with every event, and with nothing when some may have been missed. */
export function onNews(f: Listener): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** Said is what the tab that follows the feed tells the others. */
type Said = { news: Event | undefined } | { link: Link } | { ask: true };

/**
 * startFeed follows the feed, and anew whenever somebody signs in. Browsers allow six connections to a server, all tabs
 * together, so one tab follows and tells the others; when it is closed, another one takes its place.
 */
export function startFeed(): void {
  let end = () => {};
  const begin = () => {
    end();
    end = join(tokens.value.runtime !== '');
  };
  tokens.subscribe(begin);
  // A page that one may come back to is kept asleep: it must not keep its place meanwhile.
  window.addEventListener('pagehide', () => end());
  window.addEventListener('pageshow', (e) => e.persisted && begin());
}

/** join takes part in following the feed, and returns what ends that. */
function join(withToken: boolean): () => void {
  const stop = new AbortController();
  if (!navigator.locks) {
    void lead(stop.signal, () => undefined); // not over plain HTTP from another machine
    return () => stop.abort();
  }
  const name = withToken ? 'hecate.feed.token' : 'hecate.feed'; // tabs without the token cannot follow for those with it
  const channel = new BroadcastChannel(name);
  let leads = false;
  channel.onmessage = (m: MessageEvent<Said>) => {
    if ('ask' in m.data) leads && channel.postMessage({ link: link.value } satisfies Said);
    else if ('link' in m.data) link.value = m.data.link;
    else tell(m.data.news);
  };
  channel.postMessage({ ask: true } satisfies Said);
  tell(undefined);
  navigator.locks
    .request(name, { signal: stop.signal }, () => {
      leads = true;
      return lead(stop.signal, (said) => channel.postMessage(said));
    })
    .catch(() => undefined) // given up while it waited for its turn
    .finally(() => channel.close());
  return () => stop.abort();
}

/** lead follows the feed until it is stopped. */
async function lead(stop: AbortSignal, pass: (said: Said) => void): Promise<void> {
  const linked = (state: Link) => {
    link.value = state;
    pass({ link: state });
  };
  const news = (e: Event | undefined) => {
    tell(e);
    pass({ news: e });
  };
  for (let wait = 300; !stop.aborted; wait = Math.min(wait * 2, 5000)) {
    try {
      const cursor = (await ask<Task[]>('GET', '/tasks?limit=1')).position;
      news(undefined);
      // It ends when it is stopped, or when the log was set back behind the cursor: then it begins anew where the log is.
      await new Promise<void>((resolve) => {
        const leave = follow('/events/stream', cursor, {
          message: (m) => m.event === 'event' && news((JSON.parse(m.data) as { data: Event }).data),
          link: linked,
          refused: () => resolve(),
        });
        stop.addEventListener('abort', () => (leave(), resolve()));
      });
    } catch {
      linked('lost');
    }
    await pause(wait, stop);
  }
}

function tell(e: Event | undefined): void {
  for (const f of listeners) f(e);
}

/** soon runs f once for all calls within a moment, so that a burst of news is one request. */
export function soon(ms: number, f: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      f();
    }, ms);
  };
}
