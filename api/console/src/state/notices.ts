// Short words about what just happened, seen and heard.
import { signal } from '@preact/signals';
import { inOneSentence } from '../api/client';

export interface Notice {
  id: number;
  text: string;
  bad: boolean;
  /** link leads to what can be done about it. */
  link?: Link | undefined;
}

interface Link {
  href: string;
  text: string;
}

export const notices = signal<Notice[]>([]);
let next = 0;

export function say(text: string, bad = false, link?: Link): void {
  const notice = { id: ++next, text, bad, link };
  notices.value = [...notices.value.slice(-3), notice];
  setTimeout(() => dismiss(notice.id), bad ? 12_000 : link ? 8_000 : 4_000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((n) => n.id !== id);
}

/** attempt runs f and says what went wrong, if anything. It returns whether all went well. */
export async function attempt(f: () => Promise<unknown>): Promise<boolean> {
  try {
    await f();
    return true;
  } catch (e) {
    say(inOneSentence(e), true);
    return false;
  }
}
