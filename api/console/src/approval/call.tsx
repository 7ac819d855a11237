// One call of an approval: what it would do, why it asks, and what to do about it.
import { useId } from 'preact/hooks';
import type { Approval, ApprovalCall } from '../api/types.gen';
import { offered, sentence, type Choice } from '../state/answer';
import { Arguments } from './arguments';

interface Props {
  approval: Approval;
  call: ApprovalCall;
  number: number;
  args: unknown;
  choice: Choice | undefined;
  choose: (change: Partial<Choice>) => void;
}

const levels = ['silent', 'visible', 'asks'];
const names: Record<Choice['decision'], string> = { once: 'Once', session: 'Session', project: 'Project', deny: 'Refuse' };
const keys: Record<string, Choice['decision']> = { y: 'once', s: 'session', p: 'project', x: 'deny' };

export function CallCard({ approval, call, number, args, choice, choose }: Props) {
  const decisions = offered(call);
  const onKey = (e: KeyboardEvent) => {
    const decision = keys[e.key];
    if (!decision || !choice || !decisions.includes(decision) || (e.target as Element).matches('input[type=text], textarea')) return;
    e.preventDefault();
    e.stopPropagation();
    choose({ decision });
  };
  return (
    <article class={`call ${choice?.decision === 'deny' || call.decision === 'deny' ? 'refused' : ''}`} data-item tabIndex={0} aria-label={`Call ${number}: ${call.tool_name}`} onKeyDown={onKey}>
      <header class="call-head">
        <span class="call-number">{number}</span>
        <strong class="call-tool">{call.tool_name}</strong>
        <span class={`chip level-${call.level ?? 0}`} title="The tool’s own level">{levels[call.level ?? 0]}</span>
        {call.decision !== 'ask' && <span class="chip">{call.decision === 'deny' ? 'will be refused' : 'needs no yes'}</span>}
        {(call.locks ?? []).map((l) => <span key={l} class="chip" title="Waits until nobody else holds this lock">lock {l}</span>)}
      </header>
      <Arguments tool={call.tool_name} args={args} />
      {call.reason && <p class="why"><span class="muted">Why:</span> {call.reason}</p>}
      {(call.notes ?? []).map((n) => <p key={n} class="warn">{n}</p>)}
      {choice && <Choose approval={approval} call={call} choice={choice} choose={choose} decisions={decisions} />}
    </article>
  );
}

type ChooseProps = Pick<Props, 'approval' | 'call' | 'choose'> & { choice: Choice; decisions: Choice['decision'][] };

function Choose({ approval, call, choice, choose, decisions }: ChooseProps) {
  const id = useId();
  const more = choice.decision === 'session' || choice.decision === 'project';
  return (
    <>
      <div class="segments" role="radiogroup" aria-label={`Answer to ${call.tool_name}`}>
        {decisions.map((d) => (
          <label key={d} class={`segment ${d}`}>
            <input type="radio" name={id} aria-label={d === 'deny' ? 'Refuse this call only' : undefined} checked={choice.decision === d} onChange={() => choose({ decision: d })} />
            <span title={d === 'deny' ? 'This call only' : undefined}>{names[d]}</span>
          </label>
        ))}
      </div>
      {more && (
        <div class="scope">
          <p>{sentence(approval, call, choice)}</p>
          {call.answers?.includes('e') && choice.pattern !== '' && (
            <label class="field inline">
              <span>{call.offer?.host ? 'Host' : 'Pattern'}</span>
              <input type="text" class="mono" spellcheck={false} value={choice.pattern} onInput={(e) => choose({ pattern: e.currentTarget.value })} />
            </label>
          )}
        </div>
      )}
      {choice.decision === 'deny' && (
        <label class="field inline">
          <span>Tell the model</span>
          <input type="text" placeholder="why not, or what to do instead" value={choice.note} onInput={(e) => choose({ note: e.currentTarget.value })} />
        </label>
      )}
    </>
  );
}
