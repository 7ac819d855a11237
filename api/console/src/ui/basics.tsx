// The small things that every page is made of.
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { offline } from '../state/feed';
import { duration, word } from './format';

/** tone is what a status means for the person who reads it. */
export function tone(status: string | undefined): string {
  switch (status) {
    case 'completed': case 'approved': case 'applied': case 'ready': case 'done': case 'live':
      return 'good';
    case 'failed': case 'rejected': case 'denied': case 'unknown': case 'lost': case 'refused':
      return 'bad';
    case 'awaiting_approval': case 'pending': case 'proposed': case 'waiting':
      return 'wait';
    case 'running': case 'queued': case 'streaming': case 'connecting': case 'requested':
      return 'busy';
  }
  return 'still';
}

export function Status({ of, children }: { of: string | undefined; children?: ComponentChildren }) {
  return (
    <span class={`status ${tone(of)}`}>
      <span class="dot" aria-hidden="true" />
      {children ?? word(of)}
    </span>
  );
}

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

/** utc is a moment in UTC, to its millisecond. */
export const utc = (at: string) => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');

/** Time shows a moment as the clock on the wall does, and in UTC to those who point at it. */
export function Time({ at, exact }: { at: string | undefined; exact?: boolean }) {
  if (!at) return null;
  const d = new Date(at);
  return (
    <time dateTime={at} title={utc(at)}>
      {(exact ? clock : day).format(d)}
    </time>
  );
}

/** Lasting counts up from a moment for as long as it is shown. */
export function Lasting({ from }: { from: string | undefined }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (!from) return null;
  return <>{duration(Math.floor(Math.max(0, now - Date.parse(from)) / 1000) * 1000 || 0)}</>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what} …
    </div>
  );
}

export function Problem({ children }: { children: ComponentChildren }) {
  return (
    <div class="problem" role="alert">
      {children}
    </div>
  );
}

/** Nowhere is the page of an address that leads to nothing. */
export function Nowhere() {
  return <Empty title="There is nothing here">No page of the console has the address <code>{location.pathname}</code>. <a href="/tasks">All tasks</a></Empty>;
}

/** Missing says why a page of a task cannot be shown, and where to go from there. */
export function Missing({ children }: { children: ComponentChildren }) {
  return <Problem>{children} <a href="/tasks">All tasks</a></Problem>;
}

type ButtonProps = Omit<ButtonHTMLAttributes, 'onClick' | 'kind'> & { kind?: 'primary' | 'danger' | 'quiet'; hint?: string; online?: boolean; act: () => unknown };

/** Button does one thing at a time: until act is done it takes no other click. With online it is off while the server cannot be reached. */
export function Button({ kind, hint, online, act, children, ...rest }: ButtonProps) {
  const lost = online === true && offline.value;
  const [busy, setBusy] = useState(false);
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  const click = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await act();
    } finally {
      if (here.current) setBusy(false);
    }
  };
  return (
    <button type="button" {...rest} disabled={lost || rest.disabled} title={lost ? 'There is no connection to the server.' : rest.title} class={`button ${kind ?? ''} ${rest.class ?? ''}`} aria-busy={busy} onClick={() => void click()}>
      {children}
      {hint && <kbd aria-hidden="true">{hint}</kbd>}
    </button>
  );
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onClose={close} onClick={(e) => e.target === ref.current && ref.current?.close()}>
      <div class="dialog-body">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.filter(([, value]) => value !== undefined && value !== '' && value !== null && value !== false).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
