// What the keyboard does, everywhere and on single pages.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { navigate } from '../state/router';
import { Dialog } from './basics';

export const helpOpen = signal(false);

type Keys = Record<string, () => void>;
const layers: { current: Keys }[] = [];

/** useKeys adds keys for as long as the component is shown; the newest layer wins. */
export function useKeys(keys: Keys, when = true): void {
  const layer = useRef(keys);
  layer.current = keys;
  useLayoutEffect(() => {
    if (!when) return;
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, [when]);
}

const everywhere: Keys = {
  '?': () => (helpOpen.value = true),
  '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
  n: () => navigate('/tasks/new'),
  t: () => navigate('/tasks'),
  w: () => navigate('/approvals'),
  h: () => navigate('/history'),
  m: () => navigate('/system'),
  j: () => step(1),
  k: () => step(-1),
};

/** step moves the focus to the next or the previous item of the page. */
function step(by: number): void {
  const items = [...document.querySelectorAll<HTMLElement>('main [data-item]')].filter((el) => el.offsetParent !== null);
  if (items.length === 0) return;
  const focused = document.activeElement?.closest<HTMLElement>('[data-item]');
  const at = focused ? items.indexOf(focused) + by : by > 0 ? 0 : items.length - 1;
  const next = items[Math.min(items.length - 1, Math.max(0, at))]!;
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (e) => {
    const target = e.target as HTMLElement;
    const typing = target.matches('input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]');
    if (e.key === 'Escape' && typing) return target.blur();
    if (typing || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
    for (const keys of [...layers.map((l) => l.current).reverse(), everywhere]) {
      const act = keys[e.key];
      if (!act) continue;
      e.preventDefault();
      return act();
    }
  });
}

const help: [string, string][] = [
  ['j / k', 'next, previous item'],
  ['Enter', 'open it'],
  ['/', 'search'],
  ['t', 'tasks'],
  ['w', 'what waits for you'],
  ['h', 'history'],
  ['m', 'system: the machine, costs, providers, permissions'],
  ['n', 'new task'],
  ['1 2 3 4 5 6', 'in a run: timeline, conversation, changes, take, restore, history'],
  ['y s p x', 'of a call that asks: once, session, project, refuse'],
  ['a', 'answer as chosen'],
  ['r', 'refuse all'],
  ['Esc', 'leave a field or a dialog'],
];

export function Help() {
  if (!helpOpen.value) return null;
  return (
    <Dialog title="Keys" close={() => (helpOpen.value = false)}>
      <dl class="keys">
        {help.map(([keys, what]) => (
          <div key={keys}>
            <dt>{keys.split(' ').map((k) => (k === '/' && keys !== '/' ? ' / ' : <kbd key={k}>{k}</kbd>))}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
