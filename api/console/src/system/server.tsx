// The server: who it is, its queue and workers, its read models, and what model calls have cost.
import { get, post } from '../api/client';
import type { LiveWorker, Projection, RuntimeStats, Session, UsageSummary } from '../api/types.gen';
import { useLoad } from '../state/load';
import { attempt, say } from '../state/notices';
import { proved } from '../state/follows';
import { Button, Facts, Loading, Problem, Status } from '../ui/basics';
import { count, duration, exactly, many, money } from '../ui/format';
import { knownTitle } from './usage';

interface Health {
  version: string;
  sandbox: { os_isolation: { kind: string; path?: string } };
}

export function Server() {
  const { data, failed, reload } = useLoad(load, 'server', 3000);
  if (!data) return failed ? <Problem>{failed}</Problem> : <Loading what="the server" />;
  const { health, session, stats, models, usage } = data;
  return (
    <>
      {failed && <Problem>{failed}</Problem>}
      <div class="cards">
        <Identity health={health} session={session} />
        <Queue stats={stats} />
        <section class="card">
          <h2><a href="/system/usage">Cost of all model calls</a></h2>
          <Facts of={[[usage.unknown_cost_calls > 0 ? 'Known' : 'Cost', <span title={usage.unknown_cost_calls > 0 ? knownTitle : exactly(usage.used_micros_usd)}>{money(usage.used_micros_usd)}</span>], ['Not known', usage.unknown_cost_calls > 0 && `that of ${many(usage.unknown_cost_calls, 'call')}`]]} />
        </section>
      </div>
      <Workers of={stats.workers} />
      <Models of={models} reload={reload} />
    </>
  );
}

async function load() {
  const [health, session, stats, models, usage] = await Promise.all([
    fetch('/healthz', { cache: 'no-store' }).then((r) => r.json() as Promise<Health>), get<Session>('/whoami'), get<RuntimeStats>('/system/stats'),
    get<Projection[]>('/system/projections'), get<UsageSummary>('/usage/summary'),
  ]);
  return { health, session, stats, models, usage };
}

function Identity({ health, session: s }: { health: Health; session: Session }) {
  const isolation = health.sandbox.os_isolation;
  return (
    <section class="card">
      <h2>Server</h2>
      <Facts
        of={[
          ['Machine', s.runtime_host.label], ['Version', health.version], ['Address', s.runtime_host.public_url], ['Installation', <code>{s.runtime_host.id}</code>],
          ['Commands run', isolation.kind === 'none' ? <span class="warn">without a sandbox of the system</span> : <>in {isolation.kind} {isolation.path && <code class="muted">{isolation.path}</code>}</>],
          ['You are', proved(s.actor.name || (s.actor.kind === 'client' ? 'somebody' : s.actor.kind), s.actor.verified)],
          ['Your browser', s.runtime_host.local_only_actions_available ? 'on the server’s own machine' : 'on another machine'],
        ]}
      />
    </section>
  );
}

const seconds = (n: number) => duration(n * 1000);

function Queue({ stats: s }: { stats: RuntimeStats }) {
  return (
    <section class="card">
      <h2>Queue</h2>
      <dl class="big">
        <div><dt>Queued</dt><dd>{count(s.queued_runs)}</dd></div>
        <div><dt>Running</dt><dd>{count(s.running_runs)}</dd></div>
        <div><dt>Wait for a person</dt><dd>{count(s.awaiting_approval_runs)}</dd></div>
        <div><dt>Workers here</dt><dd>{count(s.worker_count)}</dd></div>
      </dl>
      {s.waiting_workspace_runs > 0 && <p class="warn">{many(s.waiting_workspace_runs, 'run waits', 'runs wait')} for a worker that reaches its workspace.</p>}
      <Facts
        of={[
          ['Longest queued', s.oldest_queued_age_seconds > 0 && seconds(s.oldest_queued_age_seconds)], ['Longest runs', s.oldest_running_age_seconds > 0 && seconds(s.oldest_running_age_seconds)],
          ['At a time', s.max_concurrent_runs > 0 && `${many(s.max_concurrent_runs, 'run')} at most, on all servers`], ['Log', s.store_backend],
          ['Queue', s.queue_backend !== s.store_backend && s.queue_backend], ['rtk', s.rtk_available && (s.rtk_path ?? 'there')],
        ]}
      />
    </section>
  );
}

function Workers({ of }: { of: LiveWorker[] }) {
  return (
    <section class="card table-card">
      <h2>Nodes</h2>
      {of.length === 0 && <p class="warn">No node has live workers: queued runs wait.</p>}
      {of.length > 0 && (
        <div class="scroll-x" tabIndex={0} role="region" aria-label="Nodes">
          <table class="list">
            <thead><tr><th scope="col">Node</th><th scope="col">Process</th><th scope="col" class="n">Runs</th></tr></thead>
            <tbody>{of.map((w) => <tr key={w.instance}><td><code>{w.node}</code></td><td><code class="muted">{w.instance}</code></td><td class="n">{count(w.claims)}</td></tr>)}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** isTarget tells what sends events elsewhere from what can be made anew: its name is the address. */
const isTarget = (m: Projection) => m.name.includes('://');

function Models({ of, reload }: { of: Projection[]; reload: () => Promise<void> }) {
  const rebuild = (name: string) =>
    attempt(async () => {
      await post<Projection[]>('/system/projections/rebuild', { name });
      say(`${name} is made anew.`);
      await reload();
    });
  return (
    <section class="card table-card">
      <h2>Read models</h2>
      <p class="muted">What pages and lists show, folded from the log. One that is rebuilt stays readable until the fresh one takes its place.</p>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Read models">
        <table class="list">
          <thead><tr><th scope="col">Name</th><th scope="col">State</th><th scope="col" class="n">Position</th><th scope="col" class="n">Lag</th><th scope="col" class="n">Parked</th><th scope="col"><span class="hidden">Action</span></th></tr></thead>
          <tbody>
            {of.map((m) => (
              <tr key={m.name}>
                <td class={isTarget(m) ? 'wrap' : ''}>{m.name}</td>
                <td>{m.rebuilding ? <Status of="running">rebuilding, {count(m.rebuilt_to)}</Status> : m.parked > 0 ? <Status of="failed">parked</Status> : m.lag > 0 ? <Status of="running">catching up</Status> : <Status of="ready">up to date</Status>}{m.trouble && <p class="warn wrap">{m.trouble}</p>}</td>
                <td class="n">{count(m.position)}</td><td class="n">{count(m.lag)}</td><td class="n">{count(m.parked)}</td>
                <td class="n">{!isTarget(m) && <Button kind="quiet" disabled={m.rebuilding} aria-label={`Rebuild ${m.name}`} act={() => rebuild(m.name)}>Rebuild</Button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
