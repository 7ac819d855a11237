// What the log has: read backwards from its end, in pages, and kept up to date.
import { signal, type Signal } from '@preact/signals';
import { ask, get, getText, inOneSentence } from '../api/client';
import type { Event } from '../api/types.gen';
import { onNews, soon } from './feed';

/** Scope is what the server is asked for; empty members choose everything. Times are UTC. */
export interface Scope {
  task: string;
  run: string;
  type: string;
  since: string;
  until: string;
}

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

const pageMax = 500;
const pageWanted = 200;

/** pageAt is the address of the events after a sequence. */
function pageAt(s: Scope, after: number, limit = pageMax): string {
  if (s.run && s.task && !s.type) return `/tasks/${s.task}/runs/${s.run}/events?after_sequence=${after}`;
  const q = new URLSearchParams({ after_sequence: String(after), limit: String(limit) });
  if (s.task) q.set('task_id', s.task);
  if (s.type) q.set('event_type', s.type);
  return `/events?${q}`;
}

const wanted = (s: Scope, e: Event) => (!s.run || e.run_id === s.run) && (!s.since || e.occurred_at >= s.since);

/** between reads what is after a sequence and before another one. */
async function between(s: Scope, after: number, before: number): Promise<Event[]> {
  const out: Event[] = [];
  for (;;) {
    const page = await get<Event[]>(pageAt(s, after));
    out.push(...page.filter((e) => e.sequence < before && wanted(s, e)));
    const last = page[page.length - 1];
    if (!last || page.length < pageMax || last.sequence >= before) return out;
    after = last.sequence;
  }
}

/** headOf is the sequence after which there is nothing yet. */
async function headOf(): Promise<number> {
  return Number((await ask('GET', '/whoami')).position);
}

/** lastUntil is the sequence of the last event that is not later than a moment. The API cannot be asked for that, but searched. */
async function lastUntil(moment: string, head: number): Promise<number> {
  let low = 0;
  for (let high = head; low < high; ) {
    const mid = Math.floor((low + high) / 2);
    const [e] = await get<Event[]>(`/events?limit=1&after_sequence=${mid}`);
    if (!e || e.occurred_at > moment) high = mid;
    else low = e.sequence;
  }
  return low;
}

export function openHistory(s: Scope): History {
  const h: History = { events: signal([]), more: signal(true), ready: signal(false), failed: signal(''), older: () => one(older), close: () => undefined };
  let low = 0; // everything from here on was read
  let newest = 0;
  let span = pageMax;
  let closed = false;
  // One reader at a time: what it adds depends on what is there.
  let turn: Promise<void> = Promise.resolve();
  const one = (f: () => Promise<void>) => (turn = turn.then(() => (closed ? undefined : f())).catch((e) => void (closed || (h.failed.value = inOneSentence(e)))));

  const begin = async () => {
    const head = await headOf();
    newest = s.until ? await lastUntil(s.until, head) : head;
    low = newest + 1;
    await older();
    h.ready.value = true;
  };
  const older = async () => {
    const found: Event[] = [];
    while (found.length < pageWanted && low > 1) {
      const from = Math.max(0, low - 1 - span);
      const part = await between(s, from, low);
      found.push(...part.reverse());
      low = from + 1;
      if (part.length * 4 < pageWanted) span *= 4; // the scope has few of them
      if (s.since && (await isBefore(from, s.since))) low = 1;
    }
    if (closed) return;
    h.events.value = [...h.events.value, ...found];
    h.more.value = low > 1;
    h.failed.value = '';
  };
  const newer = async () => {
    if (!h.ready.value) return begin();
    const found = await between(s, newest, Infinity);
    if (closed || found.length === 0) return;
    newest = found[found.length - 1]!.sequence;
    h.events.value = [...found.reverse(), ...h.events.value];
    h.failed.value = '';
  };
  const wantNewer = soon(200, () => void one(newer));
  const stop = s.until
    ? () => undefined
    : onNews((e) => {
        if (!e || ((!s.task || e.task_id === s.task) && (!s.run || e.run_id === s.run))) wantNewer();
      });
  void one(begin);
  h.close = () => {
    closed = true;
    stop();
  };
  return h;
}

/** isBefore reports whether what follows a sequence is earlier than a moment. */
async function isBefore(sequence: number, moment: string): Promise<boolean> {
  const [e] = await get<Event[]>(`/events?limit=1&after_sequence=${sequence}`);
  return e !== undefined && e.occurred_at < moment;
}

/** readEvent returns one event, and those of its run shortly before it. */
export async function readEvent(sequence: number): Promise<{ event: Event; before: Event[] } | undefined> {
  const [event] = await get<Event[]>(`/events?limit=1&after_sequence=${sequence - 1}`);
  if (!event || event.sequence !== sequence) return undefined;
  return { event, before: await runBefore(event) };
}

/** runBefore are the events of an event's run before it, as far as they are near. */
export function runBefore(e: Event): Promise<Event[]> {
  return between({ task: e.task_id ?? '', run: e.run_id, type: '', since: '', until: '' }, Math.max(0, e.sequence - 4 * pageMax), e.sequence);
}

/** exportLines reads a scope from its beginning and returns it as JSON Lines: the bytes of each event as the API gives them. */
export async function exportLines(s: Scope, keep: (e: Event) => boolean, progress: (n: number) => void, stop: AbortSignal): Promise<Blob> {
  const head = await headOf();
  const end = s.until ? await lastUntil(s.until, head) : head;
  const parts: string[] = [];
  for (let after = 0; after < end && !stop.aborted; ) {
    const page = elements(await getText(pageAt(s, after))).map((text) => ({ text, event: JSON.parse(text) as Event }));
    const chosen = page.filter(({ event: e }) => e.sequence <= end && wanted(s, e) && keep(e));
    for (const { text } of chosen) parts.push(text, '\n');
    progress(parts.length / 2);
    if (page.length === 0) break;
    after = page[page.length - 1]!.event.sequence;
  }
  return new Blob(parts, { type: 'application/jsonl' });
}

/** elements are the texts of the elements of the list in an answer, as they are written: parsing would change numbers. */
export function elements(answer: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = -1;
  let at = answer.indexOf('[', answer.indexOf('"data"')) + 1;
  for (; at < answer.length; at++) {
    switch (answer[at]) {
      case '"':
        for (at++; answer[at] !== '"'; at++) if (answer[at] === '\\') at++;
        break;
      case '{': case '[':
        if (depth++ === 0) from = at;
        break;
      case '}': case ']':
        if (depth === 0) return out;
        if (--depth === 0) out.push(answer.slice(from, at + 1));
    }
  }
  return out;
}
