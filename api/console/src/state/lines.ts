// Streams of text, cut where they mean something.

/** lines are the lines of a stream of bytes. An end without a line break is none: what was cut off there is not whole. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const cut = cutter('\n');
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield* cut(decoder.decode(value, { stream: true }));
  }
}

/** cutter returns what collects pieces of a text and returns the whole parts before each mark. */
export function cutter(mark: string): (piece: string) => string[] {
  let rest = '';
  return (piece) => {
    const parts = (rest + piece).split(mark);
    rest = parts.pop() ?? '';
    return parts;
  };
}
