// What waits for a person, in all tasks.
import { computed, signal } from '@preact/signals';
import { get, inOneSentence } from '../api/client';
import type { Approval, Task } from '../api/types.gen';
import { onNews, soon } from './feed';
import { notify } from './notify';

export interface Waiting {
  task: Task;
  approval: Approval;
}

export const inbox = signal<Waiting[] | undefined>(undefined);
export const inboxFailed = signal('');
export const inboxCount = computed(() => inbox.value?.length ?? 0);

export async function loadInbox(): Promise<void> {
  try {
    const [approvals, tasks] = await Promise.all([get<Approval[]>('/approvals?status=pending&limit=500'), get<Task[]>('/tasks?status=awaiting_approval&limit=0')]);
    const found = inOrder(approvals, tasks);
    tellNew(found);
    inbox.value = found;
    inboxFailed.value = '';
  } catch (e) {
    inboxFailed.value = inOneSentence(e);
  }
}

/** inOrder puts approvals to their tasks, the oldest first. One without its task was asked for while the other list was on its way. */
export function inOrder(approvals: Approval[], tasks: Task[]): Waiting[] {
  const byId = new Map(tasks.map((t) => [t.id, t]));
  return approvals
    .flatMap((approval) => (byId.has(approval.task_id) ? [{ task: byId.get(approval.task_id)!, approval }] : []))
    .sort((a, b) => (a.approval.created_at ?? '').localeCompare(b.approval.created_at ?? ''));
}

function tellNew(found: Waiting[]): void {
  if (!inbox.value) return; // what waited before the page was opened is no news
  const known = new Set(inbox.value.map((w) => w.approval.id));
  for (const w of found) {
    if (!known.has(w.approval.id)) notify(w);
  }
}

export function watchInbox(): void {
  const reload = soon(120, () => void loadInbox());
  onNews((e) => {
    if (!e || e.type.startsWith('approval.') || e.type === 'run.cancelled' || e.type.startsWith('task.')) reload();
  });
}
