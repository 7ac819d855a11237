// Where the rows of a long list are, and which of them can be seen.

// Rows this far beyond the edges of the window are there already when one scrolls to them, in pixels.
const margin = 900;

/** topsOf returns where each row begins, and where the last one ends. */
export function topsOf(heights: number[]): Float64Array {
  const out = new Float64Array(heights.length + 1);
  heights.forEach((h, i) => (out[i + 1] = out[i]! + h));
  return out;
}

/** visible returns the rows in a window that begins above pixels below the top of the list, and some more on both sides. */
export function visible(tops: Float64Array, above: number, height: number): [number, number] {
  const from = Math.max(0, rowAt(tops, above - margin));
  return [from, Math.min(tops.length - 1, rowAt(tops, above + height + margin) + 1)];
}

/** rowAt returns the row at a height; the first or the last one beyond the ends. */
export function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (tops[mid]! <= y) low = mid;
    else high = mid - 1;
  }
  return Math.min(low, Math.max(0, tops.length - 2));
}
