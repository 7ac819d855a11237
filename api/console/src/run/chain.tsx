// How the runs of a task follow from each other: one stop for each, in order, with a line to the one that it goes on from.
import type { Run } from '../api/types.gen';
import { runPath } from '../state/router';
import { tone } from '../ui/basics';
import { word } from '../ui/format';

const stop = 134;
const lane = 14;

export function Chain({ runs, at }: { runs: Run[]; at: Run }) {
  if (runs.length < 2) return null;
  const place = new Map(runs.map((r, i) => [r.id, i]));
  const arcs = runs.flatMap((r, to) => {
    const from = place.get(r.resumed_from_run_id ?? '');
    return from === undefined ? [] : [{ from, to, kind: r.resume_kind ?? '' }];
  });
  const height = lane * (1 + Math.max(0, ...arcs.map((a) => (a.to - a.from > 1 ? 1 : 0))));
  return (
    <nav class="chain" aria-label="Runs of the task" tabIndex={0}>
      <svg width={runs.length * stop} height={height} aria-hidden="true">
        {arcs.map((a) => {
          const [x1, x2] = [a.from * stop + stop / 2, a.to * stop + stop / 2];
          const top = a.to - a.from > 1 ? 2 : height - lane + 2;
          return <path key={a.to} class={a.kind} d={`M${x1} ${height} C${x1} ${top} ${x2} ${top} ${x2} ${height}`} />;
        })}
      </svg>
      <ol>
        {runs.map((r) => (
          <li key={r.id}>
            <a href={runPath(r.task_id, r.id)} class={`stop ${tone(r.status)}`} aria-current={r.id === at.id ? 'page' : undefined} title={`Run ${r.number}: ${word(r.status)}`}>
              <span class="dot" aria-hidden="true" /> {r.number}
              <span class="stop-kind">{kind(r, runs)}</span>
              <span class="hidden">{word(r.status)}</span>
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function kind(r: Run, runs: Run[]): string {
  const from = runs.find((o) => o.id === r.resumed_from_run_id);
  if (!r.resume_kind || !from) return 'start';
  const of = from.number === r.number - 1 ? '' : ` of ${from.number}`;
  return r.resume_kind + of;
}
