import type { Activity, Artifact, Event, Frame, Step } from '../src/api/types.gen';
import { fold, nothing } from '../src/state/facts';
import { rowsOf, type Row } from '../src/state/rows';
import { same, test } from './check';

const frame = (p: { activity?: Partial<Activity>[]; steps?: Partial<Step>[]; artifacts?: Partial<Artifact>[] }) =>
  ({ run: { id: 'run_1', task_id: 'task_1' }, ...p }) as unknown as Frame;
const event = (type: string, data: Record<string, unknown>) => ({ type, data, sequence: 1, event_id: '', occurred_at: '', run_id: 'run_1', schema_version: '1' }) as Event;
const keyed = (rows: Row[]) => new Map(rows.map((r) => [r.key, r]));

test('facts of calls are gathered from their events', () => {
  let f = fold(nothing(), [event('model.call.started', { model_call_index: 1, model: 'm' }), event('assistant.tool_call_proposed', { model_call_index: 1, tool_call_id: 'c', tool_name: 'exec', input: { a: 1 } })]);
  same([...f.modelCalls.values()], [{ index: 1, text: '', model: 'm', cost: 0, costKnown: true, done: false }]);
  f = fold(f, [event('model.call.completed', { model_call_index: 1, model: 'm', cost_micros_usd: 5, usage: { input: 7, output: 3 } }), event('tool.dispatch.settled', { model_call_index: 1, tool_call_id: 'c', error: 'no' })]);
  same([...f.modelCalls.values()], [{ index: 1, text: '', model: 'm', cost: 5, costKnown: true, done: true, inputTokens: 7, outputTokens: 3 }]);
  same([...f.toolCalls.entries()], [['1/c', { id: 'c', tool: 'exec', index: 1, args: { a: 1 }, result: 'no' }]]);
});

test('calls with the same id in two answers are two calls', () => {
  const f = fold(nothing(), [1, 2].map((i) => event('assistant.tool_call_proposed', { model_call_index: i, tool_call_id: 'c', tool_name: 'exec', input: i })));
  same([...f.toolCalls.values()].map((c) => c.args), [1, 2]);
});

test('a fold leaves what was before as it was', () => {
  const before = fold(nothing(), [event('model.call.started', { model_call_index: 1, model: 'm' })]);
  fold(before, [event('assistant.text_complete', { model_call_index: 1, text: 'hello' })]);
  same(before.modelCalls.get(1)!.text, '');
});

test('what a step made stands in its row, and not in one of its own', () => {
  const rows = rowsOf(frame({
    activity: [{ id: 'step:s', step_id: 's', type: 'tool_call' }, { id: 'artifact:e', artifact_id: 'e', type: 'artifact' }, { id: 'artifact:alone', artifact_id: 'alone', type: 'artifact' }],
    steps: [{ id: 's', input: { model_call_index: 1, tool_call_id: 'c' } }],
    artifacts: [{ id: 'e', kind: 'stderr', step_id: 's' }, { id: 'o', kind: 'stdout', step_id: 's' }, { id: 'p', kind: 'patch', step_id: 's' }, { id: 'alone', kind: 'file' }],
  }), nothing(), new Map());
  same(rows.map((r) => r.key), ['step:s', 'artifact:alone']);
  same([rows[0]!.outputs.map((a) => a.id), rows[0]!.made.map((a) => a.id)], [['o', 'e'], ['p']]);
});

test('a row that says the same is the same', () => {
  const at = (status: string) => frame({ activity: [{ id: 'step:a', step_id: 'a', type: 'tool_call', status: 'completed' }, { id: 'step:b', step_id: 'b', type: 'tool_call', status }], steps: [{ id: 'a' }, { id: 'b', status }] });
  const first = rowsOf(at('running'), nothing(), new Map());
  const second = rowsOf(at('completed'), nothing(), keyed(first));
  same([second[0] === first[0], second[1] === first[1]], [true, false]);
});

test('the text of an answer that still comes is in the row of its call', () => {
  const rows = rowsOf(frame({
    activity: [{ id: 'step:m', step_id: 'm', type: 'thinking' }], steps: [{ id: 'm', status: 'running', input: { model_call_index: 1 } }],
    artifacts: [{ id: 'c', kind: 'agent_conversation', status: 'streaming', content_text: '[{"role":"user","content":"x"},{"role":"assistant","content":"so f"}]' }],
  }), nothing(), new Map());
  same(rows[0]!.partial, 'so f');
});
