// What a run costs: against its ceiling, and call by call.
import { useState } from 'preact/hooks';
import type { Run, Step } from '../api/types.gen';
import type { ModelCallFacts } from '../state/facts';
import { Lasting } from '../ui/basics';
import { between, count, duration, exactly, money } from '../ui/format';
import { hasEnded } from '../state/run';

interface Props {
  run: Run;
  /** runs are all runs of the task. */
  runs: Run[];
  calls: ModelCallFacts[];
  steps: Step[];
}

export function Figures({ run, runs, calls, steps }: Props) {
  const done = calls.filter((c) => c.done);
  const total = run.total_cost_micros_usd ?? 0;
  const input = done.reduce((n, c) => n + (c.inputTokens ?? 0), 0);
  const output = done.reduce((n, c) => n + (c.outputTokens ?? 0), 0);
  return (
    <section class="card figures">
      <h2>Figures</h2>
      <dl class="big">
        <div><dt>Cost</dt><dd title={exactly(total)}>{money(total)}{run.cost_known ? '' : ' +'}</dd></div>
        <div><dt>Time</dt><dd>{hasEnded(run) ? duration(between(run.started_at, run.finished_at)) : <Lasting from={run.started_at} />}</dd></div>
        <div><dt>Model calls</dt><dd>{count(run.model_call_count)}</dd></div>
        <div><dt>Tokens</dt><dd title={`${count(input)} in, ${count(output)} out`}>{count(input + output)}</dd></div>
      </dl>
      {!run.cost_known && <p class="warn">The cost of some calls is not known.</p>}
      <Ceiling run={run} />
      <Whole runs={runs} at={run} />
      {(done.length > 0 || (run.model_call_count ?? 0) > 0) && <Bars calls={done} steps={steps} />}
    </section>
  );
}

/** Whole is the bill of the task, where it has more than this run. */
function Whole({ runs, at }: { runs: Run[]; at: Run }) {
  if (runs.length < 2) return null;
  const now = runs.map((r) => (r.id === at.id ? at : r)); // the list is asked for less often
  const sum = now.reduce((n, r) => n + (r.total_cost_micros_usd ?? 0), 0);
  return <p class="whole" title={exactly(sum)}>{money(sum)}{now.every((r) => r.cost_known) ? '' : ' +'} <span class="muted">for all {count(runs.length)} runs of the task</span></p>;
}

function Ceiling({ run }: { run: Run }) {
  const ceiling = run.budget_micros_usd ?? 0;
  const prior = run.prior_cost_micros_usd ?? 0;
  const spent = prior + (run.total_cost_micros_usd ?? 0);
  if (!ceiling) return prior ? <p class="prior muted">{money(prior)} before this run</p> : null;
  const share = Math.min(1, spent / ceiling);
  return (
    <div class="ceiling">
      <div class="meter" role="meter" aria-label="Spent of the ceiling" aria-valuemin={0} aria-valuemax={ceiling} aria-valuenow={Math.min(spent, ceiling)} aria-valuetext={`${money(spent)} of ${money(ceiling)}`}>
        <span class={share > 0.8 ? 'high' : ''} style={{ width: `${share * 100}%` }} />
      </div>
      <p class="muted">{money(spent)} of {money(ceiling)}{prior ? `, ${money(prior)} before this run` : ''}</p>
    </div>
  );
}

// More bars than this are thinner than a pixel: the newest are shown.
const barsMax = 60;
const barsMin = 12; // so that one call is no wall

function Bars({ calls, steps }: { calls: ModelCallFacts[]; steps: Step[] }) {
  const [table, setTable] = useState(false);
  const shown = calls.slice(-barsMax);
  const costs = shown.some((c) => c.cost > 0);
  const value = (c: ModelCallFacts) => (costs ? c.cost : (c.inputTokens ?? 0) + (c.outputTokens ?? 0));
  const most = Math.max(1, ...shown.map(value));
  const took = (c: ModelCallFacts) => {
    const s = steps.find((step) => step.kind === 'model' && step.input?.model_call_index === c.index);
    return s?.finished_at ? duration(between(s.started_at, s.finished_at)) : '';
  };
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${Math.max(barsMin, shown.length) * 10} 60`} preserveAspectRatio="none" role="img" aria-label={`${costs ? 'Cost' : 'Tokens'} of each model call, at most ${costs ? money(most) : count(most)}`}>
        {shown.map((c, i) => {
          const h = Math.max(1.5, (value(c) / most) * 58);
          return (
            <rect key={c.index} x={i * 10 + 1} y={60 - h} width={8} height={h} class={c.costKnown ? '' : 'unknown'}>
              <title>{`Call ${c.index}: ${exactly(c.cost)}, ${count(c.inputTokens)} in, ${count(c.outputTokens)} out`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span class="muted">{costs ? 'Cost' : 'Tokens'} per call</span>
        <button type="button" class="more" aria-expanded={table} onClick={() => setTable(!table)}>{table ? 'Hide' : 'Show'} table</button>
      </figcaption>
      {table && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Model calls">
          <table class="numbers">
            <thead><tr><th scope="col">Call</th><th scope="col">In</th><th scope="col">Out</th><th scope="col">Cost</th><th scope="col">Time</th></tr></thead>
            <tbody>
              {calls.map((c) => (
                <tr key={c.index}><td>{c.index}</td><td>{count(c.inputTokens)}</td><td>{count(c.outputTokens)}</td><td>{c.costKnown ? exactly(c.cost) : '?'}</td><td>{took(c)}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </figure>
  );
}
