// What events say of each other, and of who is behind them.
import type { Event } from '../api/types.gen';

export interface Before {
  event: Event;
  /** same is what both are about, in words. */
  same: string;
}

const shared: [string, string][] = [
  ['operation_id', 'operation'], ['approval_id', 'approval'], ['step_id', 'step'], ['tool_call_id', 'call'], ['model_call_index', 'model call'],
];

/** followed returns the nearest earlier event that is about the same, if there is one. */
export function followed(e: Event, earlier: Event[]): Before | undefined {
  for (const [id, name] of shared) {
    const value = e.data[id];
    if (value === undefined || value === '' || value === 0) continue;
    const event = earlier.findLast((b) => b.data[id] === value);
    if (event) return { event, same: `same ${name}` };
  }
  return undefined;
}

/** by is who caused an event, as the server's filter takes it. */
export function by(e: Event): string {
  return e.actor ? [e.actor.kind, e.actor.name].filter(Boolean).join(':') : '';
}

/** byWord is the same for people. */
export function byWord(e: Event): string {
  const a = e.actor;
  if (!a) return '';
  if (a.verified === undefined) return [a.kind, a.name].filter(Boolean).join(' ');
  return proved(a.name ?? '', a.verified) + (a.org ? ` (of ${a.org})` : '');
}

/** proved says whether a token proved who somebody is. */
export function proved(who: string, verified: boolean): string {
  return `${who || 'somebody'}${verified ? ', proved by a token' : ', not proved by a token'}`;
}
