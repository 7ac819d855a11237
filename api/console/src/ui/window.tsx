// A list of any length: only the rows near the visible part exist. Rows may have any height; it is measured once
// they are shown.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';

interface Props<T> {
  items: T[];
  keyOf: (item: T) => string;
  /** guess is the height of a row that was never shown, in pixels. */
  guess: number;
  /** follow keeps the end in sight as the list grows, as long as it was in sight before. */
  follow?: boolean;
  label: string;
  row: (item: T, index: number) => ComponentChildren;
}

// Short lists are shown whole, so that the browser's own search finds everything.
const wholeMax = 150;
const margin = 900;
const endMargin = 120;

export function WindowList<T>({ items, keyOf, guess, follow, label, row }: Props<T>) {
  const box = useRef<HTMLOListElement>(null);
  const heights = useRef(new Map<string, number>());
  const [measured, remeasured] = useReducer((n: number) => n + 1, 0);
  const [, scrolled] = useReducer((n: number) => n + 1, 0);
  const whole = items.length <= wholeMax;

  const tops = useMemo(() => {
    const out = new Float64Array(items.length + 1);
    for (let i = 0; i < items.length; i++) out[i + 1] = out[i]! + (heights.current.get(keyOf(items[i]!)) ?? guess);
    return out;
  }, [items, measured, guess]);

  useEffect(() => {
    let frame = 0;
    const moved = () => {
      endSeen = nearEnd();
      if (!whole) frame ||= requestAnimationFrame(() => ((frame = 0), scrolled(undefined as never)));
    };
    endSeen = nearEnd();
    window.addEventListener('scroll', moved, { passive: true });
    window.addEventListener('resize', moved);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener('scroll', moved);
      window.removeEventListener('resize', moved);
    };
  }, [whole]);

  useLayoutEffect(() => {
    if (follow && endSeen) window.scrollTo({ top: document.documentElement.scrollHeight });
  }, [items, follow]);

  useLayoutEffect(() => {
    if (whole || !box.current) return;
    let changed = false;
    for (const el of box.current.querySelectorAll<HTMLElement>(':scope > [data-key]')) {
      const height = el.getBoundingClientRect().height;
      if (Math.abs((heights.current.get(el.dataset.key!) ?? -1) - height) < 0.5) continue;
      heights.current.set(el.dataset.key!, height);
      changed = true;
    }
    if (changed) remeasured(undefined as never);
  });

  const [from, to] = whole ? [0, items.length] : visible(tops, box.current);
  return (
    <ol class="window" ref={box} aria-label={label}>
      {!whole && <li class="spacer" aria-hidden="true" style={{ height: `${tops[from]}px` }} />}
      {items.slice(from, to).map((item, i) => (
        <li key={keyOf(item)} data-key={keyOf(item)} aria-setsize={items.length} aria-posinset={from + i + 1}>
          {row(item, from + i)}
        </li>
      ))}
      {!whole && <li class="spacer" aria-hidden="true" style={{ height: `${tops[items.length]! - tops[to]!}px` }} />}
    </ol>
  );
}

// Lists scroll with the page, so there is one end. It is noted before the page grows.
let endSeen = false;

/** followsEnd reports whether whoever looks at the page watches its end. */
export const followsEnd = () => endSeen;

function nearEnd(): boolean {
  const d = document.documentElement;
  return d.scrollHeight - window.scrollY - window.innerHeight < endMargin;
}

/** visible returns the rows between the edges of the window, and some more on both sides. */
function visible(tops: Float64Array, box: HTMLElement | null): [number, number] {
  const above = box ? -box.getBoundingClientRect().top : 0;
  const from = Math.max(0, rowAt(tops, above - margin));
  return [from, Math.min(tops.length - 1, rowAt(tops, above + window.innerHeight + margin) + 1)];
}

function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (tops[mid]! <= y) low = mid;
    else high = mid - 1;
  }
  return Math.min(low, Math.max(0, tops.length - 2));
}
