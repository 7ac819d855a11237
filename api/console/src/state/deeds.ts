// What operations have done to the workspace of a run, as far as the log says it in the run itself.
import { get } from '../api/client';
import type { Event, Run } from '../api/types.gen';
import { baseName } from '../ui/format';
import { everything, queryOf } from './history';

export interface Deed {
  operation: string;
  /** artifact is the patch that was applied or taken back; empty of another deed. */
  artifact: string;
  reverts: boolean;
  /** what is the deed in words. */
  what: string;
}

const types = ['tool.file.applied', 'tool.file.reverted', 'workspace.restored'];

/** deedsOf returns the deeds of all operations on a run, the newest first. */
export async function deedsOf(run: Run): Promise<Deed[]> {
  const q = queryOf({ ...everything, task: run.task_id, run: run.id, types });
  return (await get<Event[]>(`/audit/events?${q}&limit=500`)).map(deed);
}

/** deed reads one of the events that end an operation. */
export function deed(e: Event): Deed {
  const text = (name: string) => (typeof e.data[name] === 'string' ? (e.data[name] as string) : '');
  const reverts = e.type === 'tool.file.reverted';
  const what = e.type === 'workspace.restored' ? `put back to before ${text('before')}` : `${reverts ? 'revert' : 'apply'} of ${baseName(text('path'))}`;
  return { operation: text('operation_id'), artifact: text('artifact_id'), reverts, what };
}
