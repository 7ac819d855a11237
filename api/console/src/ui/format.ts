// Values as people read them.
import type { Task } from '../api/types.gen';

/** nameOf is what a task is called: by its command, if nobody gave it a title. */
export function nameOf(t: Task): string {
  const command = t.shell_command || (t.git_command && `git ${t.git_command}`) || t.file_path;
  return t.title === 'New task' && command ? command : t.title;
}

/** money has four decimals, and six where four would hide most of a small sum: as hecate usage has it. */
export function money(microUSD: number | undefined): string {
  const micro = microUSD ?? 0;
  if (micro === 0) return '$0';
  if (micro < 1000 && micro % 100 !== 0) return exactly(micro);
  return '$' + (Math.round(micro / 100) / 1e4).toFixed(4);
}

/** exactly is the same with all digits: parts that are added up are not to be rounded one by one. */
export function exactly(microUSD: number | undefined): string {
  return '$' + ((microUSD ?? 0) / 1e6).toFixed(6);
}

export function count(n: number | undefined): string {
  return (n ?? 0).toLocaleString('en-US');
}

/** many says how many of a thing there are. */
export function many(n: number, one: string, more = one + 's'): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

export function size(bytes: number | undefined): string {
  const b = bytes ?? 0;
  if (b < 1024) return many(b, 'byte');
  if (b < 1 << 20) return `${(b / 1024).toFixed(1)} KB`;
  return `${(b / (1 << 20)).toFixed(1)} MB`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

/** between is the time from one moment to another, or to now. */
export function between(from: string | undefined, to: string | undefined): number {
  return from ? (to ? Date.parse(to) : Date.now()) - Date.parse(from) : 0;
}

const words: Record<string, string> = {
  not_started: 'not started', awaiting_approval: 'waits for you', in_place: 'in place', agent_loop: 'agent',
};

/** word is a value of the API without its underscores. */
export function word(value: string | undefined): string {
  return words[value ?? ''] ?? (value ?? '').replaceAll('_', ' ');
}

/** short is an id as far as people tell ids apart. */
export function short(id: string): string {
  const at = id.indexOf('_');
  return at < 0 ? id.slice(0, 12) : id.slice(0, at + 7);
}

// A line of a list has room for so much of a path, and a name alone may take more.
const pathMax = 36;
const nameMax = 120;

/** pathTail is a path with its end, which tells it from others, and as much before it as there is room for. */
export function pathTail(path: string | undefined): string {
  const p = path ?? '';
  if (p.length <= pathMax) return p;
  const cut = p.indexOf('/', p.length - pathMax);
  return '…' + p.slice(cut < 0 || cut === p.length - 1 ? Math.max(p.lastIndexOf('/'), p.length - nameMax) : cut);
}

export function baseName(path: string | undefined): string {
  return (path ?? '').split('/').pop() ?? '';
}
