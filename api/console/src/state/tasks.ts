// The list of tasks: the server searches it and gives it in pages; the feed keeps it up to date.
import { computed, effect, signal } from '@preact/signals';
import { ask, inOneSentence } from '../api/client';
import type { Task } from '../api/types.gen';
import { onNews, soon } from './feed';
import { query } from './router';

/** shows are the statuses that each choice of the list lets through; '' for all. */
export const shows = {
  all: [''], waiting: ['awaiting_approval'], open: ['queued', 'running', 'awaiting_approval'],
  completed: ['completed'], failed: ['failed'], cancelled: ['cancelled'], not_started: ['not_started'],
};
export type Show = keyof typeof shows;

export const show = computed<Show>(() => {
  const wanted = query.value.get('show') ?? '';
  return Object.hasOwn(shows, wanted) ? (wanted as Show) : 'all';
});

/** search is what is looked for: words of a task, or pieces of them. */
export const search = signal('');

/** tasks are those of the list that were read so far, the newest first. */
export const tasks = signal<Task[] | undefined>(undefined);
export const tasksFailed = signal('');
/** more is whether there may be older ones. */
export const more = signal(false);

const step = 200;
let want = step;

/** older reads further back. */
export function older(): Promise<void> {
  want += step;
  return load();
}

const chosen = computed(() => JSON.stringify([show.value, search.value.trim()]));

async function load(): Promise<void> {
  const key = chosen.value;
  const words = search.value.trim();
  try {
    const lists = await Promise.all(shows[show.value].map((status) => some(status, words)));
    if (key !== chosen.value) return; // something else is looked for meanwhile
    tasks.value = lists.flatMap((l) => l.tasks).sort((a, b) => (b.created_at ?? '').localeCompare(a.created_at ?? ''));
    more.value = lists.some((l) => l.next > 0);
    tasksFailed.value = '';
  } catch (e) {
    tasksFailed.value = inOneSentence(e);
  }
}

/**
 * some reads as many tasks as are wanted. The server looks at a bounded number at a time, so that a page with few of them
 * is not the end; how many pages are asked for has a bound as well.
 */
async function some(status: string, words: string): Promise<{ tasks: Task[]; next: number }> {
  const found: Task[] = [];
  let next = 0;
  for (let pages = (10 * want) / step; pages > 0 && found.length < want; pages--) {
    const q = new URLSearchParams({ limit: String(step) });
    if (status) q.set('status', status);
    if (words) q.set('q', words.slice(0, 200));
    if (next) q.set('before', String(next));
    const page = (await ask<Task[]>('GET', `/tasks?${q}`)).body as { data: Task[]; next_before?: number };
    found.push(...page.data);
    next = page.next_before ?? 0;
    if (!next) break;
  }
  return { tasks: found, next };
}

const reload = soon(250, () => void load());

// What moves a task in the list; the many events in between do not.
const moves = /^(task\.|run\.(created|started|queued|awaiting|finished|failed|cancelled)|approval\.|model\.call\.completed|workspace|operation)/;

export function watchTasks(): void {
  onNews((e) => {
    if (!e || moves.test(e.type)) reload();
  });
  effect(() => {
    void chosen.value;
    want = step;
    reload();
  });
}
