import { rowAt, topsOf, visible } from '../src/ui/extent';
import { same, test } from './check';

test('rows are found by height', () => {
  const tops = topsOf([10, 20, 30]);
  same([...tops], [0, 10, 30, 60]);
  same([-5, 0, 9, 10, 29, 30, 59, 60, 1000].map((y) => rowAt(tops, y)), [0, 0, 0, 1, 1, 2, 2, 2, 2]);
});

test('only rows near the window are drawn', () => {
  const tops = topsOf(Array.from({ length: 10_000 }, () => 40));
  same(visible(tops, 0, 800), [0, 43]);
  same(visible(tops, 200_000, 800), [4977, 5043]);
  same(visible(tops, 399_200, 800), [9957, 10_000]);
  same(visible(tops, 1e9, 800), [9999, 10_000], 'beyond the end');
});

test('an empty list has no rows', () => {
  same(visible(topsOf([]), 0, 800), [0, 0]);
});

test('all of the window is covered, whatever the heights are', () => {
  let seed = 7;
  const heights = Array.from({ length: 3000 }, () => 20 + ((seed = (seed * 48271) % 2147483647) % 400));
  const tops = topsOf(heights);
  for (let above = -500; above < tops[3000]!; above += 3701) {
    const [from, to] = visible(tops, above, 700);
    if (from > 0 && tops[from]! > above) throw new Error(`the first row at ${above} begins at ${tops[from]}`);
    if (to < 3000 && tops[to]! < above + 700) throw new Error(`the last row at ${above} ends at ${tops[to]}`);
    if (to - from > 200) throw new Error(`${to - from} rows at ${above}`);
  }
});
