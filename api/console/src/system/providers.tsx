// The providers of models: whether they can be asked, why not, and what has happened with them.
import { get } from '../api/client';
import type { ProviderEvent, ProviderStatus } from '../api/types.gen';
import { useLoad } from '../state/load';
import { attempt } from '../state/notices';
import { Button, Empty, Facts, Loading, Problem, Status, Time } from '../ui/basics';
import { count, duration, many, word } from '../ui/format';

export function Providers() {
  const { data, failed, reload } = useLoad(async () => {
    const [all, events] = await Promise.all([get<ProviderStatus[]>('/providers/status'), get<ProviderEvent[]>('/providers/history')]);
    return { all, events };
  }, 'providers', 10_000);
  if (!data) return failed ? <Problem>{failed}</Problem> : <Loading what="providers" />;
  const refresh = () => attempt(async () => {
    await get('/providers/status?refresh=1');
    await reload();
  });
  return (
    <>
      {failed && <Problem>{failed}</Problem>}
      <div class="bar">
        <p class="muted">Whom the server can ask. They are set up in its environment.</p>
        <Button act={refresh} title="Asks each provider for its models">Refresh</Button>
      </div>
      {data.all.length === 0 && <Empty title="No provider is configured">Agents have nobody to ask.</Empty>}
      <div class="cards">{data.all.map((p) => <Provider key={p.name} of={p} />)}</div>
      <Events of={data.events} />
    </>
  );
}

const tones: Record<ProviderStatus['status'], string> = { healthy: 'ready', degraded: 'waiting', open: 'failed', half_open: 'waiting', unknown: '' };

function Provider({ of: p }: { of: ProviderStatus }) {
  const wrong = p.readiness_checks.filter((c) => c.status === 'blocked' || c.status === 'warning');
  return (
    <section class="card" data-item tabIndex={-1}>
      <h2 class="card-title">{p.name} <Status of={p.routing_ready ? 'ready' : 'failed'}>{p.routing_ready ? 'ready' : 'not ready'}</Status></h2>
      {!p.routing_ready && <p class="error-text">{p.readiness.message} {p.readiness.operator_action}</p>}
      {wrong.map((c) => <p key={c.name} class={c.status === 'blocked' ? 'error-text' : 'warn'}>{word(c.name)}: {c.message} {c.operator_action}</p>)}
      <Facts
        of={[
          ['Health', <Status of={tones[p.status]}>{word(p.status)}</Status>], ['Address', p.base_url && <code>{p.base_url}</code>], ['Kind', p.kind], ['Key', word(p.credential_state)],
          ['Model', p.default_model && <code>{p.default_model}</code>],
          ['Models', p.model_count > 0 && <details><summary>{count(p.model_count)}</summary><ul class="summary-lines">{(p.models ?? []).map((m) => <li key={m}><code>{m}</code></li>)}</ul></details>],
          ['Unnamed tasks', p.auto_route_ready ? 'may go there' : 'do not go there'], ['Last answer', p.last_latency_ms !== undefined && `after ${duration(p.last_latency_ms)}`],
          ['Calls', `${count(p.total_successes)} answered, ${count(p.total_failures)} failed`], ['Failures', (p.rate_limits ?? 0) + (p.timeouts ?? 0) + (p.server_errors ?? 0) > 0 && kinds(p)],
          ['Last error', p.last_error && <span class="error-text">{p.last_error}</span>], ['Left alone', p.open_until && <>until <Time at={p.open_until} exact /></>],
          ['Asked', p.last_checked_at && <Time at={p.last_checked_at} />],
        ]}
      />
    </section>
  );
}

function kinds(p: ProviderStatus): string {
  const parts: [number | undefined, string][] = [[p.rate_limits, 'rate limit'], [p.timeouts, 'timeout'], [p.server_errors, 'server error']];
  return parts.filter(([n]) => n).map(([n, what]) => many(n!, what)).join(', ');
}

function Events({ of }: { of: ProviderEvent[] }) {
  if (of.length === 0) return <p class="muted">Nothing out of the ordinary has happened with them since the server started.</p>;
  return (
    <section class="card table-card">
      <h2>What has happened with them</h2>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="What has happened with providers">
        <table class="list">
          <thead><tr><th scope="col">When</th><th scope="col">Provider</th><th scope="col">What</th><th scope="col">Health</th><th scope="col">Why</th></tr></thead>
          <tbody>
            {of.map((e, i) => (
              <tr key={i}>
                <td><Time at={e.timestamp} /></td><td>{e.provider}{e.peer_provider && ` → ${e.peer_provider}`}</td><td>{word(e.event)}</td>
                <td><Status of={tones[e.status]}>{word(e.status)}</Status></td><td class="wrap">{e.error ?? e.reason ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
