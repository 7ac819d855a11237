// The one stream of what happens in all runs. It carries news; what it is about is asked for.
import { signal } from '@preact/signals';
import { ask } from '../api/client';
import { follow, type Link } from '../api/stream';
import type { Event, Task } from '../api/types.gen';
import { tokens } from './session';

export const link = signal<Link>('connecting');

type Listener = (e: Event | undefined) => void;
const listeners = new Set<Listener>();

/** onNews calls back with every event, and with nothing when some may have been missed. */
export function onNews(f: Listener): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

let stop: (() => void) | undefined;

/** startFeed follows the feed, and anew whenever somebody signs in. */
export function startFeed(): void {
  tokens.subscribe(() => {
    stop?.();
    stop = undefined;
    void begin();
  });
}

let attempt = 0;

async function begin(): Promise<void> {
  const mine = ++attempt;
  for (let wait = 300; ; wait = Math.min(wait * 2, 5000)) {
    let cursor: string;
    try {
      cursor = (await ask<Task[]>('GET', '/tasks?limit=1')).position;
    } catch {
      if (mine !== attempt) return;
      link.value = 'lost';
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (mine !== attempt) return;
      continue;
    }
    if (mine !== attempt) return;
    stop = follow('/events/stream', cursor, {
      message: (m) => {
        if (m.event === 'event') tell((JSON.parse(m.data) as { data: Event }).data);
      },
      link: (state) => {
        link.value = state;
      },
      // The log was set back behind the cursor: begin anew where it is.
      refused: (e) => {
        if (e.status === 400) void begin();
      },
    });
    tell(undefined);
    return;
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
