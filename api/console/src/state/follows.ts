// What an event follows. The API does not name the cause, but events of one call, approval or operation share its id.
import type { Event } from '../api/types.gen';

export interface Before {
  event: Event;
  /** same is what both are about, in words; empty if it is only the one before. */
  same: string;
}

const shared: [string, string][] = [
  ['operation_id', 'operation'], ['approval_id', 'approval'], ['step_id', 'step'], ['tool_call_id', 'call'], ['model_call_index', 'model call'],
];

/** followed returns the nearest earlier event that is about the same, or else the one before in the run. */
export function followed(e: Event, earlier: Event[]): Before | undefined {
  for (const [id, name] of shared) {
    const value = e.data[id];
    if (value === undefined || value === '' || value === 0) continue;
    const event = earlier.findLast((b) => b.data[id] === value);
    if (event) return { event, same: `same ${name}` };
  }
  const event = earlier[earlier.length - 1];
  return event && { event, same: '' };
}

/** by is who did it, of the events that say so. */
export function by(e: Event): string {
  const name = e.data.by ?? e.data.requested_by;
  return typeof name === 'string' ? name : '';
}

const telling = ['title', 'tool_name', 'decision', 'outcome', 'reason', 'message', 'error', 'text', 'note', 'path', 'command', 'name', 'model', 'kind', 'status', 'state'];

/** gist is a line of what an event says. */
export function gist(e: Event): string {
  const found = telling.map((k) => e.data[k]).filter((v): v is string => typeof v === 'string' && v !== '');
  return found.filter((v, i) => !found.slice(0, i).some((earlier) => earlier.includes(v))).slice(0, 2).join(' · ').slice(0, 300);
}
