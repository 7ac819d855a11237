// One approval: everything that it would do, in order, and the answer.
import { useState } from 'preact/hooks';
import { post, Refused } from '../api/client';
import type { Approval, ResolveApprovalRequest, Task } from '../api/types.gen';
import { answer, asked, denied, firstChoices, refusal, type Choice } from '../state/answer';
import { useBundle } from '../state/bundle';
import { offline } from '../state/feed';
import { attempt, say } from '../state/notices';
import { Button, Problem, Time } from '../ui/basics';
import { many, word } from '../ui/format';
import { useKeys } from '../ui/keys';
import { TaskFacts } from '../run/task-facts';
import { CallCard } from './call';

interface Props {
  approval: Approval;
  /** task is what is asked about, if it is about the task as a whole. */
  task: Task | undefined;
  /** keys is whether the keyboard answers this one. */
  keys: boolean;
}

export function ApprovalPanel({ approval: a, task, keys }: Props) {
  const { bundle, failed } = useBundle(a);
  const [choices, setChoices] = useState(() => firstChoices(a));
  const [refusing, setRefusing] = useState(false);
  const choose = (id: string, change: Partial<Choice>) => setChoices((old) => ({ ...old, [id]: { ...old[id]!, ...change } }));
  const send = (body: ResolveApprovalRequest, done: string) => attempt(() => resolve(a, body, done));
  const no = denied(choices);
  const total = asked(a).length;
  const label = total === 0 ? 'Approve' : no === 0 ? `Approve ${many(total, 'call')}` : no === total ? 'Refuse all, go on' : `Approve ${total - no}, refuse ${no}`;
  // Nobody says yes to what is not shown.
  const ready = !offline.value && bundle !== undefined && (total > 0 || task !== undefined);
  const go = () => ready && send(answer(a, choices, ''), no === total && total > 0 ? 'Refused; the run goes on.' : 'Answered; the run goes on.');
  useKeys({ a: () => void go(), r: () => setRefusing(true) }, keys);

  return (
    <section class="approval" aria-label="Approval">
      <header class="approval-head">
        <div>
          <h3>{reason(a)}</h3>
          <p class="muted">
            Asked <Time at={a.created_at} exact />
            {a.digest && <> · binds exactly what is shown, <code title={a.digest}>{a.digest.slice(0, 12)}</code></>}
          </p>
        </div>
      </header>
      {failed && <Problem>What would be done cannot be shown, so it cannot be approved here. {failed}</Problem>}
      {(a.calls ?? []).length > 0 ? (
        <ol class="calls">
          {a.calls!.map((c, i) => (
            <li key={c.tool_call_id}>
              <CallCard approval={a} call={c} number={i + 1} args={bundle?.get(c.tool_call_id)} choice={choices[c.tool_call_id]} choose={(change) => choose(c.tool_call_id, change)} />
            </li>
          ))}
        </ol>
      ) : (
        <Whole of={a} task={task} />
      )}
      {refusing ? (
        <Refusal close={() => setRefusing(false)} send={(note, goOn) => send(refusal(a, note, goOn), goOn ? 'Refused; the run goes on.' : 'Refused; the run ends.')} mayGoOn={total > 0} />
      ) : (
        <div class="actions">
          <Button kind="quiet" hint="r" title={total > 0 ? 'All calls at once; the run then ends or goes on' : undefined} act={() => setRefusing(true)}>{total > 0 ? 'Refuse everything …' : 'Refuse …'}</Button>
          <Button kind="primary" hint="a" online disabled={!ready} act={go}>{label}</Button>
        </div>
      )}
    </section>
  );
}

/** reason is why a person is asked, in words of people. */
function reason(a: Approval): string {
  const all = a.calls?.length ?? 0;
  if (all === 1) return 'The agent wants to make 1 call, and asks before it does';
  const asks = a.calls?.filter((c) => c.decision === 'ask').length;
  if (all > 1) return `The agent wants to make ${many(all, 'call')}, and asks before ${asks === all ? 'all' : asks} of them`;
  return a.reason || word(a.kind);
}

/** Whole is the question that stands before a run: may the task do what it says? */
function Whole({ of, task }: { of: Approval; task: Task | undefined }) {
  if (task) return <div class="call"><TaskFacts task={task} /></div>;
  return <ul class="summary-lines">{(of.action_summary ?? []).map((line) => <li key={line}><code>{line}</code></li>)}</ul>;
}

function Refusal({ close, send, mayGoOn }: { close: () => void; send: (note: string, goOn: boolean) => Promise<boolean>; mayGoOn: boolean }) {
  const [note, setNote] = useState('');
  return (
    <div class="refusal">
      <label class="field">
        <span>Reason</span>
        <textarea rows={2} ref={(el) => el?.focus()} value={note} onInput={(e) => setNote(e.currentTarget.value)} />
        <small>{mayGoOn ? 'Kept with the answer. If the run goes on, the model is told.' : 'Kept with the answer.'}</small>
      </label>
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="danger" online act={() => send(note, false)}>Refuse and end the run</Button>
        {mayGoOn && <Button online act={() => send(note, true)}>Refuse and go on</Button>}
      </div>
    </div>
  );
}

async function resolve(a: Approval, body: ResolveApprovalRequest, done: string): Promise<void> {
  const at = `/tasks/${a.task_id}/approvals/${a.id}`;
  try {
    await post<Approval>(at + '/resolve', body);
  } catch (e) {
    if (e instanceof Refused && e.status === 409) throw new Error(`Somebody else was first, or the calls have changed. ${e.message}`);
    throw e;
  }
  say(done);
}
