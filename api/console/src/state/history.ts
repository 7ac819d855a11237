// What the log has: read backwards from its end, in pages, and kept up to date.
import { signal, type Signal } from '@preact/signals';
import { ask, get, getStream, inOneSentence } from '../api/client';
import type { Event } from '../api/types.gen';
import { onNews, soon } from './feed';
import { lines } from './lines';

/** Scope is what the server is asked for; empty members choose everything. Times are UTC. */
export interface Scope {
  task: string;
  run: string;
  /** types are exact names. */
  types: string[];
  actor: string;
  tool: string;
  path: string;
  host: string;
  secret: string;
  approval: string;
  since: string;
  until: string;
}

/** everything is the scope of the whole log. */
export const everything: Scope = { task: '', run: '', types: [], actor: '', tool: '', path: '', host: '', secret: '', approval: '', since: '', until: '' };

export interface History {
  /** events are those that were read so far, the newest first. */
  events: Signal<Event[]>;
  /** more is whether there may be older ones. */
  more: Signal<boolean>;
  /** ready is whether the first page is there. */
  ready: Signal<boolean>;
  failed: Signal<string>;
  older(): Promise<void>;
  close(): void;
}

interface Page {
  events: Event[];
  /** next is where older ones begin; 0 at the end. */
  next: number;
}

const pageSize = 200;

/** queryOf is a scope as the server takes it. */
export function queryOf(s: Scope): URLSearchParams {
  const named: Record<string, string> = {
    task_id: s.task, run_id: s.run, event_type: s.types.join(','), actor: s.actor, tool: s.tool, path: s.path, host: s.host,
    secret: s.secret, approval_id: s.approval, from: s.since, to: s.until,
  };
  return new URLSearchParams(Object.entries(named).filter(([, value]) => value));
}

async function pageOf(s: Scope, before: number): Promise<Page> {
  const q = queryOf(s);
  q.set('limit', String(pageSize));
  if (before) q.set('before_sequence', String(before));
  const found = (await ask<Event[]>('GET', `/audit/events?${q}`)).body as { data: Event[]; next_before_sequence?: number };
  return { events: found.data, next: found.next_before_sequence ?? 0 };
}

/** merged puts what was read from the end on top of what is known. */
export function merged(known: Event[], fresh: Event[]): Event[] {
  const newest = known[0]?.sequence ?? 0;
  const added = fresh.filter((e) => e.sequence > newest);
  return added.length > 0 ? [...added, ...known] : known;
}

export function openHistory(s: Scope): History {
  const h: History = { events: signal([]), more: signal(true), ready: signal(false), failed: signal(''), older: () => one(older), close: () => undefined };
  let next = 0;
  let closed = false;
  // One reader at a time: what it adds depends on what is there.
  let turn: Promise<void> = Promise.resolve();
  const one = (f: () => Promise<void>) => (turn = turn.then(() => (closed ? undefined : f())).catch((e) => void (closed || (h.failed.value = inOneSentence(e)))));

  const older = async () => {
    // A search looks at so many events at a time: a page with few of them is not the end.
    const found: Event[] = [];
    do {
      const page = await pageOf(s, next);
      found.push(...page.events);
      next = page.next;
    } while (found.length < pageSize / 4 && next > 0 && !closed);
    if (closed) return;
    h.events.value = [...h.events.value, ...found];
    h.more.value = next > 0;
    h.ready.value = true;
    h.failed.value = '';
  };
  const newer = async () => {
    if (!h.ready.value) return older();
    const newest = h.events.value[0]?.sequence ?? 0;
    const found: Event[] = [];
    for (let before = 0; ; ) {
      const page = await pageOf(s, before);
      found.push(...page.events);
      before = page.next;
      if (before <= newest || page.events.some((e) => e.sequence <= newest)) break;
    }
    if (closed) return;
    h.events.value = merged(h.events.value, found);
    h.failed.value = '';
  };
  const wantNewer = soon(300, () => void one(newer));
  const stop = s.until
    ? () => undefined
    : onNews((e) => {
        if (!e || ((!s.task || e.task_id === s.task) && (!s.run || e.run_id === s.run))) wantNewer();
      });
  void one(older);
  h.close = () => {
    closed = true;
    stop();
  };
  return h;
}

/** readEvent returns one event. */
export async function readEvent(sequence: number): Promise<Event | undefined> {
  const [event] = await get<Event[]>(`/audit/events?after_sequence=${sequence - 1}&before_sequence=${sequence + 1}`);
  return event;
}

/** nearby are the events of an event's run shortly before it, and that follow it. */
export async function nearby(e: Event): Promise<Event[]> {
  const q = queryOf({ ...everything, task: e.task_id ?? '', run: e.run_id });
  return (await get<Event[]>(`/audit/events?${q}&before_sequence=${e.sequence}&limit=500`)).reverse();
}

/** exportLines reads all of a scope, oldest first, as JSON Lines: the bytes of each event as the API gives them. */
export async function exportLines(s: Scope, keep: (e: Event) => boolean, progress: (n: number) => void, stop: AbortSignal): Promise<Blob> {
  const q = queryOf(s);
  q.set('format', 'jsonl');
  const parts: string[] = [];
  for await (const line of lines(await getStream(`/audit/events?${q}`, stop))) {
    if (!keep(JSON.parse(line) as Event)) continue;
    parts.push(line, '\n');
    if (parts.length % 200 === 0) progress(parts.length / 2);
  }
  progress(parts.length / 2);
  return new Blob(parts, { type: 'application/jsonl' });
}
