// Two texts, line by line: what is the same, what went and what came.
import { diffArrays, diffWordsWithSpace } from 'diff';
import { escape } from './code';

export interface Line {
  kind: 'same' | 'old' | 'new';
  before?: number;
  after?: number;
  html: string;
}

/** First has the numbers of the first lines of both texts. */
export interface First {
  before: number;
  after: number;
}

// Unchanged lines around a change; what is between two of them is folded.
const around = 3;
// Past this many lines a comparison takes longer than anybody waits: the old text then goes, the new one comes.
const compareMax = 20_000;

/** compare returns the lines of both texts in order. */
export function compare(before: string, after: string, colour: (text: string) => string[]): Line[] {
  const [a, b] = [split(before), split(after)];
  const [ha, hb] = [colour(a.join('\n')), colour(b.join('\n'))];
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  const parts = a.length + b.length > compareMax ? [{ removed: true, added: false, value: a }, { removed: false, added: true, value: b }] : diffArrays(a, b);
  for (const part of parts) {
    for (let n = 0; n < part.value.length; n++) {
      if (part.removed) out.push({ kind: 'old', before: i + 1, html: ha[i++] ?? '' });
      else if (part.added) out.push({ kind: 'new', after: j + 1, html: hb[j++] ?? '' });
      else out.push({ kind: 'same', before: i + 1, after: j + 1, html: hb[(i++, j++)] ?? '' });
    }
  }
  markWords(out, a, b);
  return out;
}

/** numbered counts lines from other numbers than 1. */
export function numbered(lines: Line[], from: First | undefined): Line[] {
  if (!from) return lines;
  for (const l of lines) {
    if (l.before) l.before += from.before - 1;
    if (l.after) l.after += from.after - 1;
  }
  return lines;
}

function split(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

/** markWords marks what differs where as many lines came as went. Those lines lose their colours: two markings in one line are none. */
function markWords(lines: Line[], a: string[], b: string[]): void {
  for (let at = 0; at < lines.length; ) {
    let mid = at;
    while (lines[mid]?.kind === 'old') mid++;
    let end = mid;
    while (lines[end]?.kind === 'new') end++;
    if (mid > at && end - mid === mid - at) {
      for (let n = 0; n < mid - at; n++) words(lines[at + n]!, lines[mid + n]!, a, b);
    }
    at = Math.max(end, at + 1);
  }
}

function words(from: Line, to: Line, a: string[], b: string[]): void {
  const [x, y] = [a[from.before! - 1]!, b[to.after! - 1]!];
  if (x.length + y.length > 2000) return;
  const parts = diffWordsWithSpace(x, y);
  const kept = parts.filter((p) => !p.added && !p.removed).reduce((n, p) => n + p.value.trim().length, 0);
  if (kept * 3 < Math.max(x.trim().length, y.trim().length)) return; // another line, not a changed one
  const side = (drop: 'added' | 'removed') =>
    parts.filter((p) => !p[drop]).map((p) => (p.added || p.removed ? `<mark>${escape(p.value)}</mark>` : escape(p.value))).join('');
  from.html = side('added');
  to.html = side('removed');
}

/** fold groups lines, with runs of unchanged ones apart. */
export function fold(lines: Line[]): { folded: boolean; lines: Line[] }[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((l, i) => {
    if (l.kind !== 'same') near.fill(1, Math.max(0, i - around), i + around + 1);
  });
  const out: { folded: boolean; lines: Line[] }[] = [];
  lines.forEach((l, i) => {
    const folded = !near[i];
    const last = out[out.length - 1];
    if (last && last.folded === folded) last.lines.push(l);
    else out.push({ folded, lines: [l] });
  });
  return out.map((b) => (b.folded && b.lines.length <= 2 ? { ...b, folded: false } : b));
}

/** pairs puts what went beside what came in its place. */
export function pairs(lines: Line[]): [Line | undefined, Line | undefined][] {
  const out: [Line | undefined, Line | undefined][] = [];
  let old: Line[] = [];
  let fresh: Line[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(old.length, fresh.length); i++) out.push([old[i], fresh[i]]);
    [old, fresh] = [[], []];
  };
  for (const l of lines) {
    if (l.kind === 'old') old.push(l);
    else if (l.kind === 'new') fresh.push(l);
    else (flush(), out.push([l, l]));
  }
  flush();
  return out;
}
