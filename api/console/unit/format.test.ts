import type { Task } from '../src/api/types.gen';
import { baseName, between, count, duration, exactly, many, money, nameOf, short, size, word } from '../src/ui/format';
import { same, test } from './check';

test('money has as many digits as it takes to see it, the same everywhere', () => {
  same([undefined, 0, 7, 300, 1200, 99_999, 100_000, 1_234_567].map(money), ['$0', '$0', '$0.000007', '$0.0003', '$0.0012', '$0.1000', '$0.1000', '$1.2346']);
  same([4_267, 3_130, 3_150, 10_547].map(exactly), ['$0.004267', '$0.003130', '$0.003150', '$0.010547']);
});

test('durations change their unit', () => {
  same([-5, 0, 999, 1000, 59_900, 60_000, 3_599_999, 3_600_000, 90_000_000].map(duration),
    ['0 ms', '0 ms', '999 ms', '1.0 s', '59.9 s', '1 min 0 s', '59 min 59 s', '1 h 0 min', '25 h 0 min']);
  same(between('2026-01-01T00:00:00Z', '2026-01-01T00:00:01.500Z'), 1500);
  same(between(undefined, undefined), 0);
});

test('sizes and numbers', () => {
  same([undefined, 1, 1023, 1024, 1 << 20].map(size), ['0 bytes', '1 byte', '1,023 bytes', '1.0 KB', '1.0 MB']);
  same([count(1234567), many(1, 'file'), many(2, 'file'), many(2, 'file conflicts', 'files conflict')], ['1,234,567', '1 file', '2 files', '2 files conflict']);
});

test('ids and paths are cut where people cut them', () => {
  same(['run_0a1b2c3d4e5f', 'a', 'withoutanyscoreatall'].map(short), ['run_0a1b2c', 'a', 'withoutanysc']);
  same(['/a/b.go', 'b.go', '', undefined].map(baseName), ['b.go', 'b.go', '', '']);
});

test('a task without a title is called by its command', () => {
  const task = (change: Partial<Task>) => nameOf({ title: 'New task', ...change } as Task);
  same([task({ shell_command: 'make' }), task({ git_command: 'status' }), task({ file_path: 'a.txt' }), task({}), task({ title: 'Mine', shell_command: 'make' })],
    ['make', 'git status', 'a.txt', 'New task', 'Mine']);
  same([word('awaiting_approval'), word('not_done'), word(undefined)], ['waits for you', 'not done', '']);
});
