// The browser's own notifications, for those who look elsewhere.
import { signal } from '@preact/signals';
import type { Waiting } from './inbox';
import { navigate, runPath } from './router';

const key = 'hecate.notify';
const possible = typeof Notification !== 'undefined' && window.isSecureContext;

export const notifications = signal<'off' | 'on' | 'denied' | 'impossible'>(
  !possible ? 'impossible' : Notification.permission === 'denied' ? 'denied' : Notification.permission === 'granted' && localStorage.getItem(key) ? 'on' : 'off',
);

export async function turnNotifications(): Promise<void> {
  if (notifications.value === 'on') {
    localStorage.removeItem(key);
    notifications.value = 'off';
    return;
  }
  const answer = await Notification.requestPermission();
  if (answer === 'granted') localStorage.setItem(key, '1');
  notifications.value = answer === 'granted' ? 'on' : answer === 'denied' ? 'denied' : 'off';
}

export function notify(w: Waiting): void {
  if (notifications.value !== 'on' || document.visibilityState === 'visible') return;
  const n = new Notification('Hecate waits for your answer', { body: `${w.task.title}\n${w.approval.reason ?? ''}`, tag: w.approval.id });
  n.onclick = () => {
    window.focus();
    navigate(runPath(w.approval.task_id, w.approval.run_id));
    n.close();
  };
}
