// The list of tasks, kept up to date by the feed.
import { computed, signal } from '@preact/signals';
import { get, inOneSentence } from '../api/client';
import type { Task } from '../api/types.gen';
import { onNews, soon } from './feed';

export const tasks = signal<Task[] | undefined>(undefined);
export const tasksFailed = signal('');

/** page is how many tasks are asked for; 0 for all. */
export const page = signal(200);

export const waiting = computed(() => (tasks.value ?? []).reduce((n, t) => n + (t.pending_approval_count ?? 0), 0));

export async function loadTasks(): Promise<void> {
  try {
    tasks.value = await get<Task[]>(`/tasks?limit=${page.value}`);
    tasksFailed.value = '';
  } catch (e) {
    tasksFailed.value = inOneSentence(e);
  }
}

const reload = soon(250, () => void loadTasks());

// What moves a task in the list; the many events in between do not.
const moves = /^(task\.|run\.(created|started|queued|awaiting|finished|failed|cancelled)|approval\.|model\.call\.completed|workspace|operation)/;

export function watchTasks(): void {
  onNews((e) => {
    if (!e || moves.test(e.type)) reload();
  });
}
