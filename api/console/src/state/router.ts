// Which page is shown: the address says it, so that every page can be reloaded and shared.
import { signal } from '@preact/signals';

export const path = signal(location.pathname);
/** title is what the page is called, in the browser's tabs and to those who do not see it. */
export const title = signal('');

export const query = signal(new URLSearchParams(location.search));

/** hash is the part of the page that the address means. */
export const hash = signal(location.hash);

window.addEventListener('popstate', sync);

function sync(): void {
  path.value = location.pathname;
  query.value = new URLSearchParams(location.search);
  hash.value = location.hash;
}

/** navigate shows another page; with replace it takes the place of this one in the history. */
export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  sync();
}

/** followLinks turns clicks on links to pages of the console into navigation without a load. */
export function followLinks(e: MouseEvent): void {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element).closest?.('a');
  if (!a || a.target || a.origin !== location.origin || a.hasAttribute('download') || !isPage(a.pathname)) return;
  if (a.pathname === location.pathname && a.hash) return; // the browser goes there by itself
  e.preventDefault();
  if (a.href !== location.href) navigate(a.pathname + a.search + a.hash);
}

function isPage(p: string): boolean {
  return p === '/' || /^\/(tasks|approvals|history|system)(\/|$)/.test(p);
}

export const taskPath = (task: string) => `/tasks/${task}`;
export const runPath = (task: string, run: string, tab = '') => `/tasks/${task}/runs/${run}${tab && '/' + tab}`;
