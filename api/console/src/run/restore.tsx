// Restore: the files of a workspace become what they were before a call. It is looked at first.
import { useEffect, useState } from 'preact/hooks';
import { get, inOneSentence } from '../api/client';
import type { FileChange, OperationResult, RestorePoint } from '../api/types.gen';
import { deedsOf } from '../state/deeds';
import { navigate, query, runPath } from '../state/router';
import { useReview } from '../state/review';
import { hasEnded, type RunStore } from '../state/run';
import { Button, Empty, Loading, Problem, Time } from '../ui/basics';
import { Switch } from '../ui/field';
import { many } from '../ui/format';
import { Done, Landed, touched } from './landed';

export function Restore({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const at = `/tasks/${run.task_id}/runs/${run.id}`;
  const [points, setPoints] = useState<RestorePoint[]>();
  const [failed, setFailed] = useState('');
  const [deeds, setDeeds] = useState<Map<string, string>>(new Map());
  const load = async () => {
    try {
      const found = await get<RestorePoint[]>(at + '/restore-points');
      setPoints(found);
      if (found.some((p) => p.operation_id)) setDeeds(new Map((await deedsOf(run).catch(() => [])).map((d) => [d.operation, d.what])));
    } catch (e) {
      setFailed(inOneSentence(e));
    }
  };
  const nameOf = (p: RestorePoint) => p.tool_name ?? deeds.get(p.operation_id ?? '') ?? 'operation';
  const ended = hasEnded(run);
  useEffect(() => void load(), [at, ended]);
  const wanted = query.value.get('before') ?? '';
  const choose = (id: string) => navigate(runPath(run.task_id, run.id, 'restore') + (id ? `?before=${encodeURIComponent(id)}` : ''), true);
  if (failed) return <Problem>{failed}</Problem>;
  if (!points) return <Loading what="restore points" />;
  if (points.length === 0) return <Empty title="There is nothing to go back to">The run has made no calls.</Empty>;
  const point = points.find((p) => p.id === wanted);
  return (
    <section class="review" aria-label="Restore">
      <p class="muted">{ended ? 'Choose a call: the workspace becomes what it was before it. Ignored files and commits stay as they are.' : 'Once the run has ended, its workspace can be put back to before one of these calls.'}</p>
      <ol class="points" aria-label="Calls and what they changed">
        {points.map((p) => (
          <li key={p.id}>
            <button type="button" class="point" data-item aria-current={p.id === wanted} disabled={!p.available || !ended} onClick={() => choose(p.id === wanted ? '' : p.id)}>
              <span class="point-name"><Time at={p.created_at} exact /> <strong title={p.operation_id}>{nameOf(p)}</strong></span>
              <code class="muted point-id">{p.tool_call_id ?? p.operation_id}</code>
              <Changed point={p} root={run.workspace_path ?? ''} />
            </button>
          </li>
        ))}
      </ol>
      {ended && point?.available && <Back key={point.id} at={at} point={point} called={point.tool_name ? '' : `the ${nameOf(point)}`} done={() => void load()} />}
    </section>
  );
}

const listed = 4;

function Changed({ point: p, root }: { point: RestorePoint; root: string }) {
  if (p.changed_count === 0) return <span class="muted">{p.available ? 'changed nothing' : 'there is no snapshot of it, or nothing to put back'}</span>;
  const more = p.changed_count - Math.min(listed, p.changed.length);
  return (
    <span class="point-files">
      {p.changed.slice(0, listed).map((f) => (
        <code key={f.path} class={kinds[f.kind]?.[1]} title={f.kind}>{kinds[f.kind]?.[0] ?? '~'} {short(f, root)}</code>
      ))}
      {more > 0 && <span class="muted">and {many(more, 'more', 'more')}</span>}
    </span>
  );
}

const kinds: Record<string, [string, string]> = { add: ['+', 'added'], update: ['~', ''], delete: ['−', 'gone'] };

const short = (f: FileChange, root: string) => (f.path.startsWith(root + '/') ? f.path.slice(root.length + 1) : f.path);

/** Back shows what would be put back, and does it. */
function Back({ at, point, called, done }: { at: string; point: RestorePoint; called: string; done: () => void }) {
  const [force, setForce] = useState(false);
  const review = useReview(at, 'restore', { before: point.id, ...(force && { force: true }) });
  const [last, setLast] = useState<OperationResult>();
  if (review.shown && review.shown !== last) setLast(review.shown);
  const name = point.tool_name ? `${point.tool_name} ${point.tool_call_id ?? ''}` : called;
  const result = review.done ?? review.shown ?? (review.failed ? undefined : last);
  const n = result ? touched(result) : 0;
  const stuck = (review.shown?.conflicts ?? 0) > 0 && !force;
  const go = async () => {
    await review.go();
    done();
  };
  return (
    <section aria-label={`Back to before ${name}`}>
      <h3>Back to before {name}</h3>
      {review.failed && <Problem>{review.failed} <button type="button" class="button" onClick={review.again}>Look again</button></Problem>}
      {!result && !review.failed && <Loading what="what would be put back" />}
      {review.done && (
        <Done again={review.again}>{many(n, 'file')} put back in <code>{review.done.target}</code>.</Done>
      )}
      {review.outdated && <p class="warn" role="alert">The files have changed since you looked. This is how they stand; look again before you put them back.</p>}
      {result && (result.conflicts > 0 || force) && !review.done && <Switch label="Put back also what others than the run have changed since" on={force} set={setForce} />}
      {result && <Landed planned={!review.done} result={result} />}
      {result && (result.not_undone_count ?? 0) > 0 && <NotUndone result={result} />}
      {!review.done && (
        <div class="actions sticky">
          <span class="muted grow" role="status">
            {!review.shown && !review.failed && 'Looking …'}
            {stuck && `${many(review.shown!.conflicts, 'file conflicts', 'files conflict')}, so nothing would be put back.`}
            {review.shown && !stuck && n === 0 && 'The workspace is as it was then already.'}
          </span>
          <Button kind="primary" online disabled={!review.shown || stuck || n === 0} act={go}>Put back {many(n, 'file')}</Button>
        </div>
      )}
    </section>
  );
}

function NotUndone({ result: r }: { result: OperationResult }) {
  return (
    <details class="advanced">
      <summary>{many(r.not_undone_count ?? 0, 'file')} ignored or in no snapshot, left as they are</summary>
      <ul class="summary-lines">{(r.not_undone ?? []).map((p) => <li key={p}><code>{p}</code></li>)}</ul>
    </details>
  );
}
