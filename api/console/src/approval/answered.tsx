// What became of an approval: what was asked, who answered, and what.
import type { Approval } from '../api/types.gen';
import { proved } from '../state/follows';
import { Facts, Time } from '../ui/basics';
import { word } from '../ui/format';

export function Answered({ approval: a }: { approval: Approval }) {
  // The answer calls every person an operator; who it was, its event says.
  const who = a.resolved_by === 'operator' || a.resolved_by_name ? proved(a.resolved_by_name ?? '', a.resolved_by_verified ?? false) : a.resolved_by;
  return (
    <>
      {a.calls?.length ? (
        <table class="numbers answers">
          <thead><tr><th scope="col">Call</th><th scope="col">Answer</th><th scope="col">Why it asked</th></tr></thead>
          <tbody>
            {a.calls.map((c) => (
              <tr key={c.tool_call_id}>
                <td><code>{c.tool_name}</code></td>
                <td>{c.answer ? c.answer + (c.scope && c.scope !== 'once' ? `, ${c.scope}` : '') : c.decision === 'ask' ? word(a.status) : 'needed none'}</td>
                <td>{c.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <ul class="summary-lines">{(a.action_summary ?? []).map((l) => <li key={l}><code>{l}</code></li>)}</ul>
      )}
      <Facts of={[['Answered by', who], ['At', a.resolved_at && <Time at={a.resolved_at} />], ['Note', a.resolution_note], ['Binds', a.digest && <code>{a.digest}</code>]]} />
    </>
  );
}
