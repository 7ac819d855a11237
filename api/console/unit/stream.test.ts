import { follow, parse, type Link, type Message } from '../src/api/stream';
import { cutter, lines } from '../src/state/lines';
import { same, test } from './check';

test('a message of a stream', () => {
  same(parse('id: 7\nevent: event\ndata: {"a":1}\ndata: more'), { id: '7', event: 'event', data: '{"a":1}\nmore' });
  same(parse('data:x'), { id: '', event: 'message', data: 'x' });
  same(parse(': a comment'), undefined);
  same(parse('id: 7'), undefined);
});

test('pieces are put together wherever they were cut', () => {
  const text = 'id: 1\ndata: ä\n\nid: 2\ndata: b\n\nhalf';
  for (let at = 0; at <= text.length; at++) {
    const cut = cutter('\n\n');
    same([...cut(text.slice(0, at)), ...cut(text.slice(at))], ['id: 1\ndata: ä', 'id: 2\ndata: b'], `cut at ${at}`);
  }
});

test('lines of bytes, cut within a character', async () => {
  const bytes = new TextEncoder().encode('ä\nö\nhalf');
  const out: string[] = [];
  for await (const line of lines(streamOf([bytes.slice(0, 1), bytes.slice(1, 4), bytes.slice(4)]))) out.push(line);
  same(out, ['ä', 'ö']);
});

test('a stream that breaks is gone on with after the last message', async () => {
  const seen = await followed([
    () => answer('id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: ha'),
    () => Promise.reject(new TypeError('no connection')),
    () => answer('id: 3\ndata: c\n\n: beat\n\nid: 4\nevent: done\ndata: d\n\n'),
  ]);
  same(seen.cursors, ['9', '2', '2']);
  same(seen.messages.map((m) => m.data), ['a', 'b', 'c', 'd']);
  same(seen.links, ['connecting', 'live', 'lost', 'lost', 'live', 'ended']);
});

test('a stream that is refused is not asked for again', async () => {
  const seen = await followed([() => Promise.resolve(new Response('{"error":{"type":"not_found","message":"there is no such run"}}', { status: 404 }))]);
  same([seen.cursors.length, seen.refused, seen.links[seen.links.length - 1]], [1, 'there is no such run', 'lost']);
});

function streamOf(parts: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(c) {
      for (const p of parts) c.enqueue(p);
      c.close();
    },
  });
}

const answer = (text: string) => Promise.resolve(new Response(streamOf([new TextEncoder().encode(text)])));

interface Seen {
  cursors: string[];
  messages: Message[];
  links: Link[];
  refused: string;
}

/** followed follows a stream whose requests are answered one after another, until it ends. */
async function followed(answers: (() => Promise<Response>)[]): Promise<Seen> {
  const seen: Seen = { cursors: [], messages: [], links: [], refused: '' };
  const real = window.fetch;
  window.fetch = (_, init) => {
    seen.cursors.push((init?.headers as Record<string, string>)['Last-Event-ID'] ?? '');
    return (answers.shift() ?? (() => Promise.reject(new Error('asked once more'))))();
  };
  try {
    await new Promise<void>((resolve) => {
      follow('/stream', '9', {
        message: (m) => seen.messages.push(m),
        link: (l) => {
          seen.links.push(l);
          if (l === 'ended' || seen.refused) resolve();
        },
        refused: (e) => (seen.refused = e.message),
      });
    });
  } finally {
    window.fetch = real;
  }
  return seen;
}
