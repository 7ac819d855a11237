// Which model call made which answer of a conversation, those of the runs that it goes on from among them.
import type { Message, Run } from '../api/types.gen';

export interface Origin {
  /** call is the number of the model call in its run; 0 if that cannot be told. */
  call: number;
  /** run is the number of an earlier run; 0 if it is the one that is shown. */
  run: number;
}

/** originsOf returns the origins of all answers, in order. The last ones are those of the run itself. */
export function originsOf(messages: Message[], of: Run, runs: Run[], streaming: boolean): Origin[] {
  const answers = messages.filter((m) => m.role === 'assistant').length;
  const last = messages[messages.length - 1];
  const half = streaming && last?.role === 'assistant' && !last.tool_calls ? 1 : 0;
  const calls = of.model_call_count;
  const inherited = Math.max(0, answers - half - calls);
  const before = earlier(of, runs);
  const out: Origin[] = before.length === inherited ? before : Array.from({ length: inherited }, () => ({ call: 0, run: parentOf(of, runs)?.number ?? 0 }));
  for (let call = calls - (answers - half) + inherited + 1; out.length < answers; call++) out.push({ call: Math.min(call, calls), run: 0 });
  return out;
}

const parentOf = (r: Run, runs: Run[]) => runs.find((o) => o.id === r.resumed_from_run_id);

/** earlier are the model calls whose answers a run has taken over. */
function earlier(r: Run, runs: Run[]): Origin[] {
  const parent = parentOf(r, runs);
  if (!parent || parent.number >= r.number || r.resume_kind === 'retry') return [];
  const kept = r.resume_kind === 'branch' ? (r.source_model_call_index ?? 1) - 1 : parent.model_call_count;
  return [...earlier(parent, runs), ...Array.from({ length: kept }, (_, i) => ({ call: i + 1, run: parent.number }))];
}
