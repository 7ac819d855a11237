// What waits for a person, in all tasks: the oldest first.
import { signal } from '@preact/signals';
import { ApprovalPanel } from '../approval/panel';
import { inbox, inboxFailed, type Waiting } from '../state/inbox';
import { notifications, turnNotifications } from '../state/notify';
import { runPath } from '../state/router';
import { Button, Empty, Loading, Problem, Status, Time } from '../ui/basics';
import { baseName, nameOf } from '../ui/format';
import { Icon } from '../ui/icon';
import { useTitle } from '../ui/title';

const chosen = signal('');

export function Approvals() {
  useTitle('Approvals');
  const all = inbox.value;
  const at = all?.find((w) => w.approval.id === chosen.value) ?? all?.[0];
  return (
    <div class="page">
      <div class="page-head">
        <h1>Approvals</h1>
        <Notifications />
      </div>
      {inboxFailed.value && <Problem>{inboxFailed.value}</Problem>}
      {!all && !inboxFailed.value && <Loading what="approvals" />}
      {all?.length === 0 && <Empty title="Nothing waits for you">When an agent wants to do what needs a yes, it is here at once.</Empty>}
      {all && at && (
        <div class="inbox">
          <ul class="inbox-list" aria-label="Waiting">
            {all.map((w) => (
              <li key={w.approval.id}>
                <button type="button" class="inbox-item" data-item aria-current={w === at} onClick={() => (chosen.value = w.approval.id)} onFocus={() => (chosen.value = w.approval.id)}>
                  <strong>{nameOf(w.task)}</strong>
                  <span class="muted">{w.approval.calls?.length ? w.approval.calls.map((c) => c.tool_name).join(', ') : w.approval.reason}</span>
                  <span class="muted"><Time at={w.approval.created_at} /> {baseName(w.task.working_directory)}</span>
                </button>
              </li>
            ))}
          </ul>
          <Detail key={at.approval.id} waiting={at} />
        </div>
      )}
    </div>
  );
}

function Detail({ waiting: { task, approval } }: { waiting: Waiting }) {
  return (
    <div class="inbox-detail">
      <p class="inbox-of">
        <Status of="waiting">waits</Status> <a href={runPath(approval.task_id, approval.run_id)}>{nameOf(task)}</a>
      </p>
      <ApprovalPanel approval={approval} task={task} keys />
    </div>
  );
}

function Notifications() {
  const state = notifications.value;
  if (state === 'impossible') return null;
  if (state === 'denied') return <span class="muted">Notifications are off in the browser.</span>;
  return (
    <Button kind="quiet" aria-pressed={state === 'on'} act={turnNotifications}>
      <Icon name="bell" /> {state === 'on' ? 'Notifications are on' : 'Notify me'}
    </Button>
  );
}
