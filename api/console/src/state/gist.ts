// What an event says, in a line.
import type { Event } from '../api/types.gen';
import { count, many, money, pathTail, size, word } from '../ui/format';

type Data = Record<string, unknown>;

/** Finder returns an event by its sequence, if it is at hand. */
export type Finder = (sequence: number) => Event | undefined;

const lineMax = 300;

/** gist is a line of what an event says. Some events say what they are about only together with those that led to them. */
export function gist(e: Event, find: Finder = () => undefined): string {
  const said = e.type.startsWith('workspace.operation.') ? operation(e, find) : sentences[e.type]?.(e.data);
  return (said || told(e.data)).slice(0, lineMax);
}

const text = (d: Data, name: string) => (typeof d[name] === 'string' ? (d[name] as string) : '');
const number = (d: Data, name: string) => (typeof d[name] === 'number' ? (d[name] as number) : 0);
const joined = (...parts: (string | false | undefined)[]) => parts.filter(Boolean).join(' · ');
const call = (d: Data) => `model call ${number(d, 'model_call_index')}`;
const model = (d: Data) => [text(d, 'model'), text(d, 'provider') && `of ${text(d, 'provider')}`].filter(Boolean).join(' ');
const tool = (d: Data) => text(d, 'tool_name');
const by = (d: Data) => text(d, 'by') && `by ${text(d, 'by')}`;
const files = (d: Data) => many(number(d, 'files_count'), 'file');
const list = (d: Data, name: string) => (Array.isArray(d[name]) ? (d[name] as unknown[]).length : 0);
const deleted = (d: Data) => (Array.isArray(d.results) ? (d.results as Data[]).reduce((n, r) => n + number(r, 'deleted'), 0) : 0);
const firstLine = (s: string) => s.trim().split('\n')[0]!;

const sentences: Record<string, (d: Data) => string> = {
  'run.created': (d) => joined(number(d, 'number') > 0 && `run ${number(d, 'number')}`, text(d, 'model')),
  'run.queued': (d) => joined('waits for a worker', text(d, 'model')),
  'run.claimed': (d) => `taken by node ${text(d, 'node_id')}`,
  'run.started': (d) => joined('a worker is at it', pathTail(text(d, 'workspace_path'))),
  'run.awaiting_approval': () => 'waits for an answer',
  'run.finished': (d) => joined(word(text(d, 'final_status')) || 'done', many(number(d, 'model_call_count'), 'model call')),
  'run.failed': (d) => joined(text(d, 'message'), text(d, 'reason') && word(text(d, 'reason'))),
  'run.cancelled': (d) => joined(text(d, 'reason'), by(d)),
  'run.resumed_from_event': (d) => joined(
    number(d, 'source_model_call_index') > 0 ? `makes model call ${number(d, 'source_model_call_index')} of ${text(d, 'from_run_id')} again` : `goes on from ${text(d, 'from_run_id')}`,
    text(d, 'reason') && word(text(d, 'reason')),
  ),
  'task.run.opened': (d) => joined(`run ${number(d, 'number')}`, text(d, 'run_id')),
  'task.run.closed': (d) => joined('the task has no open run', `the last one is ${word(text(d, 'status'))}`),
  'log.erased': (d) => joined(text(d, 'subject'), many(list(d, 'records'), 'event'), list(d, 'contents') > 0 && many(list(d, 'contents'), 'large content'), text(d, 'policy') ? 'no longer kept' : text(d, 'reason')),
  'log.key_rotated': (d) => joined('another key signs the log, by the word of the old one', text(d, 'reason')),
  'log.key_replaced': (d) => joined('another key signs the log, in place of a lost one', text(d, 'reason')),
  'retention.finished': (d) => joined(text(d, 'trigger'), `${many(deleted(d), 'event')} no longer kept`),
  'task.updated': () => 'the task changed with its run',
  'task.deleted': () => 'hidden, with all its runs',
  'task.budget.raised': (d) => `the ceiling is ${money(number(d, 'budget_micros_usd'))}`,
  'task.workspace.removed': (d) => joined(pathTail(text(d, 'path')), text(d, 'reason') && `for its ${text(d, 'reason')}`),
  'task.workspace.shared': (d) => `with ${text(d, 'task_id')}`,
  'model.call.started': (d) => joined(call(d), model(d), `about ${many(number(d, 'input_tokens_estimate'), 'token')} in`),
  'model.call.completed': (d) => joined(call(d), d.cost_known === false ? 'cost not known' : money(number(d, 'cost_micros_usd')), many(number(d, 'tool_calls'), 'tool call'), text(d, 'model')),
  'model.call.failed': (d) => joined(call(d), text(d, 'message')),
  'model.call.abandoned': (d) => joined(call(d), text(d, 'reason')),
  'model.call.retrying': (d) => joined(`${call(d)}, attempt ${number(d, 'attempt')}`, text(d, 'message')),
  'model.response.recorded': (d) => joined(call(d), size(number(d, 'content_bytes')), many(number(d, 'tool_calls'), 'tool call')),
  'assistant.final_answer': (d) => firstLine(text(d, 'summary')) || `the answer of ${call(d)}`,
  'assistant.tool_call_proposed': (d) => joined(tool(d), about(d)),
  'conversation.seeded': (d) => many(number(d, 'messages'), 'message'),
  'conversation.inherited': (d) => joined(many(number(d, 'messages'), 'message'), `of ${text(d, 'from_run_id')}`),
  'tool.dispatch.intended': (d) => joined(tool(d), about(d)),
  'tool.dispatch.settled': (d) => joined(tool(d), word(text(d, 'outcome')), firstLine(text(d, 'error'))),
  'tool.shell.exited': (d) => joined(text(d, 'signal') ? `ended by ${text(d, 'signal')}` : `exit code ${number(d, 'exit_code')}`, `stdout ${size(number(d, 'stdout_bytes'))}`, `stderr ${size(number(d, 'stderr_bytes'))}`),
  'tool.shell.command': (d) => text(d, 'command_string') || (Array.isArray(d.argv) ? d.argv.join(' ') : ''),
  'tool.shell.output_chunk': (d) => joined(text(d, 'stream'), firstLine(text(d, 'data'))),
  'tool.timed_out': (d) => joined(tool(d), 'ran into its time limit and was ended'),
  'tool.cancelled': (d) => joined(tool(d), 'cancelled'),
  'tool.file.patch': (d) => joined(`${text(d, 'artifact_status') === 'proposed' ? 'proposes ' : ''}${text(d, 'operation')}`, pathTail(text(d, 'path'))),
  'tool.file.applied': (d) => joined('written as proposed', pathTail(text(d, 'path'))),
  'tool.file.reverted': (d) => joined(d.before_existed === false ? 'removed again' : 'as it was before', pathTail(text(d, 'path'))),
  'tool.outcome.stated': (d) => joined(tool(d), d.done === true ? 'it happened' : 'it did not happen', text(d, 'note')),
  'tool.lock.waiting': (d) => joined(tool(d), `waits for the lock ${text(d, 'lock')}`, text(d, 'held_by_run_id') && `held by ${text(d, 'held_by_run_id')}`),
  'approval.requested': (d) => text(d, 'policy_reason'),
  'approval.resolved': (d) => joined(text(d, 'status'), by(d), text(d, 'scope') !== 'once' && text(d, 'scope'), text(d, 'comment')),
  'permission.changed': (d) => joined(d.saved === true ? 'saved' : 'not saved', text((d.change ?? {}) as Data, 'text'), pathTail(text(d, 'file')), text(d, 'problem')),
  'permission.file.accepted': (d) => pathTail(text(d, 'file')),
  'permission.revoked': (d) => joined(`${text(d, 'scope')} is not allowed for the session any more`, by(d)),
  'repetition.check.started': (d) => joined(tool(d), 'does it make progress?', text(d, 'model')),
  'repetition.check.completed': (d) => joined(word(text(d, 'assessment')), text(d, 'problem')),
  'artifact.recorded': (d) => joined(text(d, 'name'), word(text(d, 'kind')), size(number(d, 'size_bytes'))),
  'workspace.taken': (d) => joined(`${files(d)} taken`, text(d, 'branch') ? `onto the branch ${text(d, 'branch')} of ${pathTail(text(d, 'target'))}` : `to ${pathTail(text(d, 'target'))}`),
  'workspace.restored': (d) => joined(`${files(d)} put back`, `to before ${text(d, 'before')}`),
  'workspace.changed': (d) => joined(changed(d), text(d, 'problem'), `by ${tool(d) || (text(d, 'operation_id') ? 'an operation' : 'somebody else, or a call whose outcome is unknown')}`),
};

/** about is what a call is about: the argument that tells it from others of its tool. */
function about(d: Data): string {
  const input = (d.input ?? {}) as Data;
  return text(input, 'command') || pathTail(text(input, 'path')) || text(input, 'pattern') || text(input, 'url') || text(input, 'query') || text(input, 'terminal_id');
}

const signs: Record<string, string> = { add: '+', update: '~', delete: '−' };
const changedMax = 3;

function changed(d: Data): string {
  const list = (Array.isArray(d.files) ? d.files : []) as { path?: string; kind?: string }[];
  const named = list.slice(0, changedMax).map((f) => `${signs[f.kind ?? ''] ?? ''}${pathTail(f.path)}`);
  const more = number(d, 'files_count') - named.length;
  return [...named, more > 0 && `and ${count(more)} more`].filter(Boolean).join(' ');
}

const deeds: Record<string, [done: string, looked: string]> = {
  take: ['take', 'looked at what would be taken'], restore: ['put back', 'looked at what would be put back'],
  patch_apply: ['apply a patch', 'looked at a patch'], patch_revert: ['revert a patch', 'looked at taking a patch back'],
};

/** operation tells a look from a deed: what is done says so itself only where it was asked for. */
function operation(e: Event, find: Finder): string {
  let asked: Event | undefined = e;
  while (asked && asked.type !== 'workspace.operation.requested') asked = asked.caused_by && asked.caused_by < asked.sequence ? find(asked.caused_by) : undefined;
  const [deed, look] = deeds[text(asked?.data ?? {}, 'kind')] ?? ['', ''];
  const landed = (e.data.landed ?? {}) as Data;
  const looks = asked ? asked.data.preview === true : text(landed, 'diff') !== '';
  const what = looks ? look || 'looked at only' : deed;
  if (e.type === 'workspace.operation.requested') return what;
  if (e.type === 'workspace.operation.begun') return joined(what, `by node ${text(e.data, 'node_id')}`);
  return joined(what, !(looks && text(e.data, 'outcome') === 'done') && word(text(e.data, 'outcome')), 'files_count' in landed && files(landed), text(e.data, 'message'));
}

const telling = ['title', 'tool_name', 'decision', 'outcome', 'reason', 'message', 'summary', 'error', 'text', 'note', 'path', 'command', 'name', 'model', 'kind', 'status', 'state', 'file', 'scope'];

/** told is the same of events that nobody knows a sentence for, such as those of clients. */
function told(d: Data): string {
  const definition = (d.definition ?? {}) as Data;
  const found = telling.map((k) => text(d, k) || text(definition, k)).filter(Boolean);
  return found.filter((v, i) => !found.slice(0, i).some((earlier) => earlier.includes(v))).slice(0, 2).join(' · ');
}
