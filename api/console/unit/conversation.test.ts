import type { Message, Patch, Run } from '../src/api/types.gen';
import { originsOf } from '../src/state/lineage';
import { wholeLines } from '../src/state/whole';
import { same, test } from './check';

const run = (number: number, model_call_count: number, change: Partial<Run> = {}) => ({ id: `r${number}`, number, model_call_count, ...change }) as Run;
const answers = (n: number) => Array.from({ length: n }, () => ({ role: 'assistant', content: 'x', tool_calls: [{}] })) as unknown as Message[];

test('answers say which model call of which run made them', () => {
  const first = run(1, 3);
  const branch = run(2, 2, { resumed_from_run_id: 'r1', resume_kind: 'branch', source_model_call_index: 3 });
  const more = run(3, 1, { resumed_from_run_id: 'r2', resume_kind: 'continue' });
  const runs = [first, branch, more];
  const said = (of: Run, n: number, streaming = false) => originsOf(answers(n), of, runs, streaming).map((o) => `${o.run}.${o.call}`);
  same(said(first, 3), ['0.1', '0.2', '0.3']);
  same(said(branch, 4), ['1.1', '1.2', '0.1', '0.2']);
  same(said(more, 5), ['1.1', '1.2', '2.1', '2.2', '0.1']);
  same(said(more, 4), ['2.0', '2.0', '2.0', '0.1'], 'a call without an answer leaves the rest untold');
  same(said(run(4, 1, { resumed_from_run_id: 'r1', resume_kind: 'retry' }), 1), ['0.1']);
});

test('an answer that still comes is the next call of its run', () => {
  const half = [...answers(1), { role: 'assistant', content: 'so f' }] as unknown as Message[];
  same(originsOf(half, run(1, 1), [], true).map((o) => o.call), [1, 1]);
});

test('replaced pieces are shown with the rest of their lines', () => {
  const patch = { path: '/w/a.go', diff: '--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-\treturn "Hello " + name\n+\treturn "Hello, " + name\n three\n' } as Patch;
  same(wholeLines('a.go', { before: '"Hello "', after: '"Hello, "' }, [patch]), { before: '\treturn "Hello " + name\n', after: '\treturn "Hello, " + name\n' });
  same(wholeLines('b.go', { before: '"Hello "', after: '"Hello, "' }, [patch]), { before: '"Hello "', after: '"Hello, "' });
  same(wholeLines('a.go', { before: 'two', after: '2' }, [patch]), { before: 'two', after: '2' });
  same(wholeLines('a.go', { before: 'one', after: '1' }, [{ path: '/w/a.go', diff: '@@ -1 +1 @@\n-one\n+1\n' } as Patch]), { before: 'one\n', after: '1\n' });
});
