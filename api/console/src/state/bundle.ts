// The calls that an approval is for, as the model asked for them.
import { useEffect, useState } from 'preact/hooks';
import { get, inOneSentence } from '../api/client';
import type { Approval, Event } from '../api/types.gen';

/** Bundle has the arguments of each call, by the call's id. */
export type Bundle = Map<string, unknown>;

const pageMax = 500;

/** useBundle reads the bundle of an approval; failed says why it cannot. */
export function useBundle(a: Approval): { bundle?: Bundle; failed?: string } {
  const [state, setState] = useState<{ bundle?: Bundle; failed?: string }>({});
  useEffect(() => {
    let here = true;
    const take = (s: typeof state) => here && setState(s);
    if (!a.calls?.length) take({ bundle: new Map() });
    else readBundle(a).then((bundle) => take({ bundle }), (e) => take({ failed: inOneSentence(e) }));
    return () => void (here = false);
  }, [a.id]);
  return state;
}

async function readBundle(a: Approval): Promise<Bundle> {
  const events = await eventsOf(a.task_id, 'approval.requested,assistant.tool_call_proposed');
  const asks = events.find((e) => e.type === 'approval.requested' && (e.data as Record<string, unknown>).approval_id === a.id);
  const d = (asks?.data ?? {}) as Record<string, unknown>;
  // A run that goes on from another may ask for calls that the other one's model made.
  const run = (d.source_run_id as string | undefined) || a.run_id;
  const index = d.source_run_id ? d.source_model_call_index : d.model_call_index;
  const out: Bundle = new Map();
  for (const e of events) {
    const call = e.data as Record<string, unknown>;
    if (e.type === 'assistant.tool_call_proposed' && e.run_id === run && call.model_call_index === index) out.set(String(call.tool_call_id), call.input);
  }
  if (!a.calls!.every((c) => out.has(c.tool_call_id))) throw new Error('The history of the run does not have its calls.');
  return out;
}

async function eventsOf(task: string, types: string): Promise<Event[]> {
  const out: Event[] = [];
  for (let after = 0; ; after = out[out.length - 1]!.sequence) {
    const page = await get<Event[]>(`/events?task_id=${task}&event_type=${types}&limit=${pageMax}&after_sequence=${after}`);
    out.push(...page);
    if (page.length < pageMax) return out;
  }
}
