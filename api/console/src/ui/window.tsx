// A list of any length: only the rows near the visible part exist. Rows may have any height; it is measured once
// they are shown.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';
import { topsOf, visible } from './extent';

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
const endMargin = 120;

export function WindowList<T>({ items, keyOf, guess, follow, label, row }: Props<T>) {
  const box = useRef<HTMLOListElement>(null);
  const heights = useRef(new Map<string, number>());
  const [measured, remeasured] = useReducer((n: number) => n + 1, 0);
  const [, scrolled] = useReducer((n: number) => n + 1, 0);
  const whole = items.length <= wholeMax;

  const tops = useMemo(() => topsOf(items.map((item) => heights.current.get(keyOf(item)) ?? guess)), [items, measured, guess]);

  useEffect(() => {
    let frame = 0;
    const moved = () => {
      endSeen = nearEnd(box.current);
      if (!whole) frame ||= requestAnimationFrame(() => ((frame = 0), scrolled(undefined as never)));
    };
    endSeen = nearEnd(box.current);
    window.addEventListener('scroll', moved, { passive: true });
    window.addEventListener('resize', moved);
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener('scroll', moved);
      window.removeEventListener('resize', moved);
    };
  }, [whole]);

  useLayoutEffect(() => {
    if (follow && endSeen && below(box.current) > 0) window.scrollTo({ top: document.documentElement.scrollHeight });
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

  const above = box.current ? -box.current.getBoundingClientRect().top : 0;
  const [from, to] = whole ? [0, items.length] : visible(tops, above, window.innerHeight);
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

/** beginAtTop is for another page: whose end one watched is another list. */
export const beginAtTop = () => {
  endSeen = false;
  window.scrollTo(0, 0);
};

/** below is how far a list goes on below the window, in pixels. What stands beside it may be longer, and is not meant. */
const below = (list: HTMLElement | null) => (list?.getBoundingClientRect().bottom ?? 0) - window.innerHeight;

function nearEnd(list: HTMLElement | null): boolean {
  return below(list) < endMargin;
}
