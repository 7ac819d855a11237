// The rows of a run's time line: the normalized activity, with what belongs together in one row.
import type { Activity, Approval, Artifact, Frame, Step } from '../api/types.gen';
import { callKey, type Facts, type ModelCallFacts, type ToolCallFacts } from './facts';

export interface Row {
  key: string;
  /** at is where the API has the run. */
  at: string;
  activity: Activity;
  step?: Step;
  /** outputs are stdout and stderr of the row's step, in this order, also if they are empty. */
  outputs: Artifact[];
  /** made are the other things that the step made: files and patches. */
  made: Artifact[];
  model?: ModelCallFacts;
  tool?: ToolCallFacts;
  approval?: Approval;
  /** partial is the text of an answer that still comes. */
  partial?: string;
}

const order = ['stdout', 'stderr'];

/** rowsOf keeps a row that says the same as before the same object, so that it need not be drawn again. */
export function rowsOf(p: Frame | undefined, facts: Facts, before: Map<string, Row>): Row[] {
  const steps = new Map((p?.steps ?? []).map((s) => [s.id, s]));
  const artifacts = new Map((p?.artifacts ?? []).map((a) => [a.id, a]));
  const ofStep = Map.groupBy((p?.artifacts ?? []).filter((a) => a.step_id), (a) => a.step_id!);
  const approvals = new Map((p?.approvals ?? []).map((a) => [a.id, a]));
  const partial = partialText(p);
  const out: Row[] = [];
  for (const a of p?.activity ?? []) {
    if (isElsewhere(a, artifacts, steps, approvals)) continue;
    const step = a.id.startsWith('step:') ? steps.get(a.step_id ?? '') : undefined;
    const made = step ? (ofStep.get(step.id) ?? []) : [];
    const approval = a.id.startsWith('approval:') ? approvals.get(a.approval_id ?? '') : undefined;
    const row: Row = {
      key: a.id, activity: a, at: p ? `/tasks/${p.run.task_id}/runs/${p.run.id}` : '',
      outputs: order.flatMap((kind) => made.filter((m) => m.kind === kind)),
      made: made.filter((m) => !order.includes(m.kind)),
      ...(step && { step }), ...(approval && { approval }),
    };
    const index = step?.input?.model_call_index;
    if (a.type === 'thinking') {
      const model = facts.modelCalls.get(Number(index));
      if (model) row.model = model;
      if (partial && step?.status === 'running') row.partial = partial;
    } else if (step?.input?.tool_call_id) {
      const tool = facts.toolCalls.get(callKey(index, step.input.tool_call_id));
      if (tool) row.tool = tool;
    }
    const old = before.get(row.key);
    out.push(old && same(old, row) ? old : row);
  }
  return out;
}

/** isElsewhere reports whether another row, or another page, says it already. */
function isElsewhere(a: Activity, artifacts: Map<string, Artifact>, steps: Map<string, Step>, approvals: Map<string, Approval>): boolean {
  if (a.id.startsWith('step:')) return a.type === 'approval' && approvals.has(a.approval_id ?? '');
  if (!a.id.startsWith('artifact:')) return false;
  return a.kind === 'agent_conversation' || steps.has(artifacts.get(a.artifact_id ?? '')?.step_id ?? '');
}

/** partialText is what has come of an answer: the end of the conversation while it streams. */
function partialText(p: Frame | undefined): string {
  const c = p?.artifacts?.find((a) => a.kind === 'agent_conversation' && a.status === 'streaming');
  if (!c?.content_text) return '';
  const messages = JSON.parse(c.content_text) as { role: string; content: string }[];
  const last = messages[messages.length - 1];
  return last?.role === 'assistant' ? last.content : '';
}

function same(a: Row, b: Row): boolean {
  return (
    a.model === b.model && a.tool === b.tool && a.partial === b.partial && equal(a.activity, b.activity) && equal(a.step, b.step) && equal(a.approval, b.approval) &&
    equal(a.outputs, b.outputs) && equal(a.made, b.made)
  );
}

function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
