// What can be done with a run as a whole.
import { useState } from 'preact/hooks';
import { ask, post } from '../api/client';
import type { Run } from '../api/types.gen';
import { attempt, say } from '../state/notices';
import { navigate, runPath } from '../state/router';
import { hasEnded, type RunStore } from '../state/run';
import { Button, Dialog } from '../ui/basics';
import { Field } from '../ui/field';
import { money } from '../ui/format';

export function Actions({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const [open, setOpen] = useState<'resume' | 'delete'>();
  const at = `/tasks/${run.task_id}/runs/${run.id}`;
  const latest = store.runs.value[store.runs.value.length - 1];
  const busy = latest && !hasEnded(latest);
  if (!hasEnded(run)) {
    return (
      <div class="actions">
        <Button kind="danger" online act={() => attempt(() => post(at + '/cancel', {}))}>Cancel run</Button>
      </div>
    );
  }
  const resumable = run.status !== 'completed';
  return (
    <div class="actions">
      <Button kind="quiet" act={() => setOpen('delete')} disabled={busy}>Delete …</Button>
      {store.task.value?.execution_kind === 'agent_loop' && <a class="button" href={runPath(run.task_id, run.id, 'conversation') + '#continue'}>Continue …</a>}
      <Button online act={() => goOn(at + '/retry', {})} disabled={busy} title="The same again from the beginning, in a fresh workspace">Retry</Button>
      {resumable && <Button kind="primary" act={() => setOpen('resume')} disabled={busy} title="Go on where it stopped">Resume …</Button>}
      {open === 'resume' && <Resume run={run} close={() => setOpen(undefined)} />}
      {open === 'delete' && <Delete task={run.task_id} close={() => setOpen(undefined)} />}
    </div>
  );
}

/** goOn starts a run that follows another, and shows it. */
export function goOn(path: string, body: unknown): Promise<boolean> {
  return attempt(async () => {
    const run = await post<Run>(path, body);
    navigate(runPath(run.task_id, run.id));
  });
}

function Resume({ run, close }: { run: Run; close: () => void }) {
  const [usd, setUSD] = useState('');
  const spent = (run.total_cost_micros_usd ?? 0) + (run.prior_cost_micros_usd ?? 0);
  const value = Number(usd.replace(',', '.'));
  const wrong = usd.trim() !== '' && !(value > 0 && value < 1e9) ? 'Must be an amount, such as 0.50.' : undefined;
  const go = () => (wrong ? undefined : goOn(`/tasks/${run.task_id}/runs/${run.id}/resume`, usd.trim() ? { budget_micros_usd: Math.round(value * 1e6) } : {}));
  return (
    <Dialog title="Resume" close={close}>
      <p class="muted">Goes on where the run stopped: its workspace, its conversation, its bill. Calls that were open are asked about again.</p>
      {run.budget_micros_usd ? (
        <Field label="Raise the ceiling to, in US dollars" name="budget" numeric value={usd} set={setUSD} error={wrong} hint={`Spent ${money(spent)} of ${money(run.budget_micros_usd)}. Stays as it is if empty.`} />
      ) : null}
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="primary" online act={go}>Resume</Button>
      </div>
    </Dialog>
  );
}

function Delete({ task, close }: { task: string; close: () => void }) {
  const go = () =>
    attempt(async () => {
      await ask('DELETE', `/tasks/${task}`);
      say('The task is deleted.');
      navigate('/tasks');
    });
  return (
    <Dialog title="Delete the task" close={close}>
      <p>The task and all its runs are hidden, and their workspaces removed. The log keeps them for audits.</p>
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="danger" act={go}>Delete</Button>
      </div>
    </Dialog>
  );
}
