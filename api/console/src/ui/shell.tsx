// What stands around every page: where to go, what waits, and how the server is reached.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { link } from '../state/feed';
import { inboxCount } from '../state/inbox';
import { dismiss, notices } from '../state/notices';
import { followLinks, path } from '../state/router';
import { signIn, tokens } from '../state/session';
import { theme, turnTheme } from '../state/theme';
import { Boundary } from './boundary';
import { Icon } from './icon';
import { Help, helpOpen } from './keys';
import { SignIn } from './signin';
import { beginAtTop } from './window';

export function Shell({ children }: { children: ComponentChildren }) {
  const n = inboxCount.value;
  const at = path.value;
  useEffect(() => {
    document.addEventListener('click', followLinks);
    return () => document.removeEventListener('click', followLinks);
  }, []);
  const [first, task, , run] = at.split('/').filter(Boolean); // without the tab of a run
  useEffect(() => {
    beginAtTop();
    // The link that led here is gone, and with it the place of those who go by keyboard.
    if (document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
  }, [first, task, run]);
  return (
    <div class="shell">
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <a class="brand" href="/tasks" aria-label="Hecate, tasks">
          <Icon name="brand" /> <span>Hecate</span>
        </a>
        <nav aria-label="Pages">
          <a href="/tasks" aria-current={at === '/' || at.startsWith('/tasks') ? 'page' : undefined}>
            <Icon name="tasks" /> <span>Tasks</span>
          </a>
          <a href="/approvals" aria-current={at.startsWith('/approvals') ? 'page' : undefined}>
            <Icon name="inbox" /> <span>Approvals</span>
            {n > 0 && <span class="badge" aria-label={`${n} waiting`}>{n}</span>}
          </a>
          <a href="/history" title="History" aria-current={at.startsWith('/history') ? 'page' : undefined}>
            <Icon name="history" /> <span class="wide-word">History</span>
          </a>
          <a href="/system" title="System" aria-current={at.startsWith('/system') ? 'page' : undefined}>
            <Icon name="system" /> <span class="wide-word">System</span>
          </a>
        </nav>
        <div class="tools">
          <Connection />
          <button type="button" class="tool" title={tokens.value.operator ? 'Signed in' : 'Sign in'} aria-label={tokens.value.operator ? 'Signed in as an operator' : 'Sign in'} onClick={() => (signIn.value = { reason: '', runtime: false })}>
            <Icon name={tokens.value.operator ? 'keyin' : 'key'} />
          </button>
          <button type="button" class="tool" title="Dark or light" aria-label={`Dark or light, at present ${theme.value}`} onClick={turnTheme}>
            <Icon name="theme" />
          </button>
          <button type="button" class="tool wide-only" title="Keys (?)" aria-label="Keys" onClick={() => (helpOpen.value = true)}>
            <Icon name="help" />
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Boundary at={at}>{children}</Boundary>
      </main>
      <Notices />
      <SignIn />
      <Help />
    </div>
  );
}

const states = { connecting: 'Connecting', live: 'Live', lost: 'No connection', ended: 'No connection' };

function Connection() {
  const state = link.value;
  return (
    <span class={`connection ${state}`} role="status" title={state === 'live' ? 'What you see is up to date.' : 'Trying again by itself. What you see may be out of date.'}>
      <span class="dot" aria-hidden="true" /> <span class="connection-word">{states[state]}</span>
    </span>
  );
}

function Notices() {
  return (
    <div class="notices" aria-live="polite">
      {notices.value.map((n) => (
        <div key={n.id} class={`notice ${n.bad ? 'bad' : ''}`}>
          <span>{n.text}{n.link && <> <a href={n.link.href} onClick={() => dismiss(n.id)}>{n.link.text}</a></>}</span>
          <button type="button" class="tool" aria-label="Dismiss" onClick={() => dismiss(n.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
