// What model calls have cost: all together, by provider, and the latest ones by themselves.
import { get } from '../api/client';
import type { ProviderStatus, UsageEvent, UsageSummary } from '../api/types.gen';
import { useLoad } from '../state/load';
import { runPath } from '../state/router';
import { Empty, Loading, Problem, Time } from '../ui/basics';
import { count, exactly, many, money, short, word } from '../ui/format';

const latest = 200;

/** knownTitle says what a sum leaves out. */
export const knownTitle = 'The sum of all calls whose cost is known. Others have cost something too, and nobody knows how much: set prices with HECATE_MODEL_PRICES.';

interface Account {
  name: string;
  of: UsageSummary;
}

export function Usage() {
  const { data, failed } = useLoad(load, 'usage', 5000);
  if (!data) return failed ? <Problem>{failed}</Problem> : <Loading what="the costs" />;
  const { accounts, calls } = data;
  return (
    <>
      {failed && <Problem>{failed}</Problem>}
      <div class="cards">{accounts.map((a) => <Sum key={a.name} account={a} />)}</div>
      {calls.length === 0 ? (
        <Empty title="No model was called yet">What calls cost is here as soon as there is one.</Empty>
      ) : (
        <section class="card table-card">
          <h2>{calls.length < latest ? 'All calls' : `The latest ${count(latest)} calls`}</h2>
          <Calls of={calls} />
        </section>
      )}
    </>
  );
}

async function load() {
  const [all, providers, calls] = await Promise.all([
    get<UsageSummary>('/usage/summary'), get<ProviderStatus[]>('/providers/status'), get<UsageEvent[]>(`/usage/events?limit=${latest}`),
  ]);
  const names = [...new Set([...providers.map((p) => p.name), ...calls.map((c) => c.provider ?? '')])].filter(Boolean).sort();
  const sums = await Promise.all(names.map((name) => get<UsageSummary>(`/usage/summary?scope=provider&provider=${encodeURIComponent(name)}`)));
  const accounts: Account[] = [{ name: 'All model calls', of: all }, ...sums.map((of, i) => ({ name: names[i]!, of }))];
  return { accounts, calls };
}

function Sum({ account: { name, of } }: { account: Account }) {
  return (
    <section class="card">
      <h2>{name}</h2>
      <dl class="big"><div><dt title={of.unknown_cost_calls > 0 ? knownTitle : undefined}>{of.unknown_cost_calls > 0 ? 'Known' : 'Cost'}</dt><dd title={exactly(of.used_micros_usd)}>{money(of.used_micros_usd)}</dd></div></dl>
      {of.unknown_cost_calls > 0 && <p class="warn">That of {many(of.unknown_cost_calls, 'call')} is not known.</p>}
    </section>
  );
}

function Calls({ of }: { of: UsageEvent[] }) {
  const remarks = of.some((c) => c.detail);
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Model calls">
      <table class="list">
        <thead><tr><th scope="col">Time</th><th scope="col">Run</th><th scope="col" class="n">Cost</th><th scope="col" class="n">In</th><th scope="col" class="n">Out</th><th scope="col">Model</th>{remarks && <th scope="col">Remark</th>}</tr></thead>
        <tbody>
          {of.map((c, i) => (
            <tr key={i}>
              <td><Time at={c.timestamp} /></td>
              <td>{c.task_id && c.run_id ? <a href={runPath(c.task_id, c.run_id)}><code>{short(c.run_id)}</code></a> : ''}</td>
              <td class="n">{c.cost_known ? exactly(c.amount_micros_usd) : <span title="Nobody knows what it cost">?</span>}</td><td class="n">{count(c.prompt_tokens)}</td><td class="n">{count(c.completion_tokens)}</td>
              <td>{c.model}</td>{remarks && <td class="muted">{word(c.detail)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
