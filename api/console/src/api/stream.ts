// Server-sent events over fetch: EventSource cannot send tokens.
import { cutter } from '../state/lines';
import { base, refusal, Refused, tokenHeaders } from './client';

export interface Message {
  id: string;
  event: string;
  data: string;
}

export type Link = 'connecting' | 'live' | 'lost' | 'ended';

export interface Follower {
  message(m: Message): unknown;
  link(state: Link): void;
  /** refused is called when trying again would not help. */
  refused?(e: Refused): void;
}

// The server sends something every 15 s: twice that without a word is a dead connection.
const silenceMax = 35_000;
const waitFirst = 300;
const waitMax = 5_000;

/** follow reads a stream from a cursor, and goes on with the last id whenever it breaks. It returns what ends it. */
export function follow(path: string, cursor: string, on: Follower): () => void {
  const stop = new AbortController();
  void run(path, cursor, on, stop.signal);
  return () => stop.abort();
}

async function run(path: string, cursor: string, on: Follower, stop: AbortSignal): Promise<void> {
  let wait = waitFirst;
  on.link('connecting');
  while (!stop.aborted) {
    try {
      for await (const m of messages(path, cursor, stop, () => on.link('live'))) {
        if (stop.aborted) return;
        wait = waitFirst;
        if (m.id) cursor = m.id;
        on.message(m);
        if (m.event === 'done') {
          on.link('ended');
          return;
        }
      }
    } catch (e) {
      if (stop.aborted) return;
      if (e instanceof Refused && e.status >= 400 && e.status < 500) {
        on.refused?.(e);
        on.link('lost');
        return;
      }
    }
    if (stop.aborted) return;
    on.link('lost');
    await pause(wait, stop);
    wait = Math.min(wait * 2, waitMax);
  }
}

/** messages opens the stream and reads it until it ends or falls silent. */
async function* messages(path: string, cursor: string, stop: AbortSignal, opened: () => void): AsyncGenerator<Message> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMax);
  try {
    const headers: Record<string, string> = { ...tokenHeaders(), Accept: 'text/event-stream' };
    if (cursor) headers['Last-Event-ID'] = cursor;
    const response = await fetch(base + path, { headers, signal: AbortSignal.any([stop, silence.signal]), cache: 'no-store' });
    if (!response.ok) throw await refusal(response);
    opened();
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const cut = cutter('\n\n');
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMax);
      for (const block of cut(decoder.decode(value, { stream: true }))) {
        const m = parse(block);
        if (m) yield m;
      }
    }
  } finally {
    clearTimeout(timer);
    silence.abort(); // whoever leaves early must not keep the connection
  }
}

/** parse reads one block of lines; comments alone are no message. */
export function parse(block: string): Message | undefined {
  const m: Message = { id: '', event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, '');
    const field = line.slice(0, at);
    if (field === 'data') data.push(value);
    else if (field === 'id') m.id = value;
    else if (field === 'event') m.event = value;
  }
  m.data = data.join('\n');
  return data.length > 0 ? m : undefined;
}

/** pause waits, but not for those who come back online or stop. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    stop.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    window.addEventListener('online', () => resolve(), { once: true });
  });
}
