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

const atOnce = 6;

export async function loadInbox(): Promise<void> {
  try {
    const tasks = await get<Task[]>('/tasks?status=awaiting_approval&limit=200');
    const found: Waiting[] = [];
    for (let i = 0; i < tasks.length; i += atOnce) {
      const part = tasks.slice(i, i + atOnce);
      const lists = await Promise.all(part.map((t) => get<Approval[]>(`/tasks/${t.id}/approvals`)));
      lists.forEach((list, n) => found.push(...list.filter((a) => a.status === 'pending').map((approval) => ({ task: part[n]!, approval }))));
    }
    found.sort((a, b) => (a.approval.created_at ?? '').localeCompare(b.approval.created_at ?? ''));
    tellNew(found);
    inbox.value = found;
    inboxFailed.value = '';
  } catch (e) {
    inboxFailed.value = inOneSentence(e);
  }
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
