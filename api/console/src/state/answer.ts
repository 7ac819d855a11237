// An answer to an approval that is being made: one choice for each call, and the request that they become.
import type { Approval, ApprovalCall, CallAnswer, ResolveApprovalRequest } from '../api/types.gen';

export type Scope = 'once' | 'session' | 'project';

export interface Choice {
  decision: Scope | 'deny';
  pattern: string;
  note: string;
}

export type Choices = Record<string, Choice>;

/** asked are the calls that an answer can be given to. */
export function asked(a: Approval): ApprovalCall[] {
  return (a.calls ?? []).filter((c) => c.decision !== 'deny');
}

export function firstChoices(a: Approval): Choices {
  return Object.fromEntries(asked(a).map((c) => [c.tool_call_id, { decision: 'once', pattern: c.offer?.scope ?? '', note: '' }]));
}

const letters: Record<Choice['decision'], string> = { once: 'y', session: 'a', project: 'A', deny: 'n' };

/** offered are the answers that a call takes. */
export function offered(c: ApprovalCall): Choice['decision'][] {
  const all: Choice['decision'][] = ['once', 'session', 'project', 'deny'];
  if (!c.answers || c.answers.length === 0) return ['once', 'deny'];
  return all.filter((d) => d === 'deny' || c.answers!.includes(letters[d]));
}

/** sentence says what a yes for more than this call would allow. */
export function sentence(a: Approval, c: ApprovalCall, choice: Choice): string {
  const changed = choice.pattern !== (c.offer?.scope ?? '');
  const covers = changed ? `what matches ${choice.pattern}` : (c.offer?.covers ?? choice.pattern);
  if (choice.decision === 'session') return `Allows ${covers}, in this run and those that go on from it.`;
  if (choice.decision === 'project') return `Allows ${covers}, from now on. Written to ${a.remember_in || 'the permission file'}.`;
  return '';
}

export function denied(choices: Choices): number {
  return Object.values(choices).filter((c) => c.decision === 'deny').length;
}

/** answer is the request for the choices as they are; a note is kept with it. */
export function answer(a: Approval, choices: Choices, note: string): ResolveApprovalRequest {
  const calls = asked(a);
  const all: Partial<ResolveApprovalRequest> = { ...(a.digest && { digest: a.digest }), ...(note && { note }) };
  if (calls.length > 0 && denied(choices) === calls.length) {
    const notes = calls.filter((c) => choices[c.tool_call_id]!.note).map((c) => callAnswer(c, choices[c.tool_call_id]!));
    return { ...all, decision: 'reject', continue: true, ...(notes.length > 0 && { calls: notes }) };
  }
  const differing = calls.filter((c) => choices[c.tool_call_id]!.decision !== 'once').map((c) => callAnswer(c, choices[c.tool_call_id]!));
  return { ...all, decision: 'approve', ...(differing.length > 0 && { calls: differing }) };
}

function callAnswer(c: ApprovalCall, choice: Choice): CallAnswer {
  if (choice.decision === 'deny') return { tool_call_id: c.tool_call_id, decision: 'deny', ...(choice.note && { note: choice.note }) };
  const pattern = choice.pattern !== (c.offer?.scope ?? '') ? { pattern: choice.pattern } : {};
  return { tool_call_id: c.tool_call_id, decision: 'approve', scope: choice.decision, ...pattern };
}

export function refusal(a: Approval, note: string, goOn: boolean): ResolveApprovalRequest {
  return { decision: 'reject', ...(a.digest && { digest: a.digest }), ...(note && { note }), ...(goOn && { continue: true }) };
}
