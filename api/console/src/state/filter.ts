// What is chosen from the history: as it stands in fields and in the address, and as the server is asked for it.
import type { Event } from '../api/types.gen';
import { everything, type Scope } from './history';

/** Filter is what the fields say. Times are those of fields: local, without a zone. */
export interface Filter {
  /** type is a type, or a group of them that ends with a dot. */
  type: string;
  by: string;
  run: string;
  tool: string;
  path: string;
  host: string;
  secret: string;
  approval: string;
  since: string;
  until: string;
  words: string;
}

export const names: (keyof Filter)[] = ['type', 'by', 'run', 'tool', 'path', 'host', 'secret', 'approval', 'since', 'until', 'words'];

/** filterOf reads a filter from an address. */
export function filterOf(q: URLSearchParams): Filter {
  return Object.fromEntries(names.map((n) => [n, q.get(n) ?? ''])) as unknown as Filter;
}

/** nothing is a filter that lets everything through. */
export const nothing: Filter = filterOf(new URLSearchParams());

/** narrowed reports whether a filter leaves something out. */
export const narrowed = (f: Filter) => names.some((n) => f[n].trim() !== '');

/** scopeOf is what the server is asked for. Words it does not search for: those are looked for in what it answers. */
export function scopeOf(f: Filter, task: string, run: string, types: readonly string[]): Scope {
  return {
    ...everything, task, run: run || f.run.trim(), types: f.type.endsWith('.') ? types.filter((t) => t.startsWith(f.type)) : f.type ? [f.type] : [],
    actor: f.by.trim(), tool: f.tool.trim(), path: f.path.trim(), host: f.host.trim(), secret: f.secret.trim(), approval: f.approval.trim(), since: utc(f.since), until: utc(f.until),
  };
}

/** utc is a local time of a field as the API has times; empty if it is none. */
export function utc(local: string): string {
  const d = new Date(local);
  return local && !Number.isNaN(d.getTime()) ? d.toISOString() : '';
}

/** holds returns what reports whether an event has all the words. */
export function holds(words: string): (e: Event) => boolean {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return (e) => {
    if (wanted.length === 0) return true;
    const text = JSON.stringify(e).toLowerCase();
    return wanted.every((w) => text.includes(w));
  };
}
