import type { Approval, Event, Task } from '../src/api/types.gen';
import { answer, firstChoices, offered } from '../src/state/answer';
import { check, empty, fieldOf, request } from '../src/state/draft';
import { filterOf, holds, scopeOf } from '../src/state/filter';
import { by, followed } from '../src/state/follows';
import { gist } from '../src/state/gist';
import { merged, queryOf } from '../src/state/history';
import { inOrder } from '../src/state/inbox';
import { same, test } from './check';

test('a draft is checked while it is written', () => {
  same(Object.keys(check(empty)), ['prompt']);
  same(check({ ...empty, prompt: 'x', requested_provider: 'p', budget_micros_usd: 'much', timeout_ms: '1m' }),
    { requested_model: 'A provider needs a model.', budget_micros_usd: 'Must be an amount, such as 0.50.', timeout_ms: 'Must be a number of seconds, such as 90.' });
  same(Object.keys(check({ ...empty, execution_kind: 'shell', shell_command: 'x', workspace_mode: 'in_place', working_directory: 'here' })), ['working_directory']);
});

test('a request has what belongs to its kind', () => {
  same(request({ ...empty, prompt: ' x ', budget_micros_usd: '$0,5', shell_command: 'left over' }),
    { execution_kind: 'agent_loop', workspace_mode: 'ephemeral', prompt: ' x ', timeout_ms: 300_000, budget_micros_usd: 500_000 });
  same(request({ ...empty, execution_kind: 'shell', shell_command: 'make', prompt: 'left over', timeout_ms: '1.5' }),
    { execution_kind: 'shell', workspace_mode: 'ephemeral', shell_command: 'make', timeout_ms: 1500 });
});

test('a refusal is shown at the field that it names', () => {
  same(fieldOf('working_directory "/x" is no directory', request({ ...empty, working_directory: '/x' })), 'working_directory');
  same(fieldOf('the work policy is gone', request(empty)), 'agent_preset_id');
  same(fieldOf('no', request(empty)), undefined);
});

const approval = {
  id: 'a', digest: 'd', calls: [
    { tool_call_id: '1', tool_name: 'exec', decision: 'ask', offer: { scope: 'exec(go)', covers: 'go', host: false, list: '' }, answers: ['y', 'a', 'A', 'n'] },
    { tool_call_id: '2', tool_name: 'edit', decision: 'ask' }, { tool_call_id: '3', tool_name: 'rm', decision: 'deny' },
  ],
} as unknown as Approval;

test('an answer names what differs from a plain yes', () => {
  const choices = firstChoices(approval);
  same(Object.keys(choices), ['1', '2']);
  same(answer(approval, choices, ''), { digest: 'd', decision: 'approve' });
  choices['1'] = { decision: 'session', pattern: 'exec(go) args(test *)', note: '' };
  choices['2'] = { decision: 'deny', pattern: '', note: 'not this' };
  same(answer(approval, choices, 'n'), {
    digest: 'd', note: 'n', decision: 'approve', calls: [
      { tool_call_id: '1', decision: 'approve', scope: 'session', pattern: 'exec(go) args(test *)' }, { tool_call_id: '2', decision: 'deny', note: 'not this' },
    ],
  });
  choices['1'] = { decision: 'deny', pattern: '', note: '' };
  same(answer(approval, choices, ''), { digest: 'd', decision: 'reject', continue: true, calls: [{ tool_call_id: '2', decision: 'deny', note: 'not this' }] });
  same(offered(approval.calls![1]!), ['once', 'deny']);
});

const event = (sequence: number, type: string, data: Record<string, unknown> = {}) => ({ sequence, type, data, run_id: 'run_1' }) as unknown as Event;

test('a filter is what the address says, and what the server is asked', () => {
  const f = filterOf(new URLSearchParams('type=tool.&by=operator&path=a/&words=go'));
  same(queryOf(scopeOf(f, 'task_1', 'run_1', ['run.started', 'tool.a', 'tool.b'])).toString(), 'task_id=task_1&run_id=run_1&event_type=tool.a%2Ctool.b&actor=operator&path=a%2F');
  same(queryOf(scopeOf(filterOf(new URLSearchParams('type=ci.done&since=2026-01-02T03:04:05Z&until=nonsense')), '', '', [])).toString(), 'event_type=ci.done&from=2026-01-02T03%3A04%3A05.000Z');
  same([holds('GO tool')(event(1, 'tool.a', { text: 'go' })), holds('rust')(event(1, 'tool.a')), holds(' ')(event(1, ''))], [true, false, true]);
});

test('what is read again from the end is there once', () => {
  const known = [event(5, 'c'), event(3, 'a')];
  same(merged(known, [event(9, 'e'), event(7, 'd'), event(5, 'c')]).map((e) => e.sequence), [9, 7, 5, 3]);
  same(merged(known, [event(5, 'c')]) === known, true);
  same(merged([], [event(2, 'x')]).length, 1);
});

test('events tell what they are about', () => {
  const asked = event(1, 'approval.requested', { approval_id: 'a' });
  same(followed(event(3, 'approval.resolved', { approval_id: 'a' }), [asked, event(2, 'run.queued')])?.event.sequence, 1);
  same(followed(event(3, 'run.started'), [asked]), undefined);
  same(gist(event(1, '', { tool_name: 'exec', decision: 'ask', reason: 'exec asks' })), 'exec · ask');
  same([by(event(1, '')), by({ ...event(1, ''), actor: { kind: 'operator', name: 'ada' } }), by({ ...event(1, ''), actor: { kind: 'system' } })], ['', 'operator:ada', 'system']);
});

test('what waits is there with its task, the oldest first', () => {
  const a = (id: string, task_id: string, created_at: string) => ({ id, task_id, created_at }) as Approval;
  const found = inOrder([a('late', 't1', '2'), a('early', 't2', '1'), a('lost', 't3', '0')], [{ id: 't1' }, { id: 't2' }] as Task[]);
  same(found.map((w) => [w.approval.id, w.task.id]), [['early', 't2'], ['late', 't1']]);
});
