// Take: what the run has changed in its copy goes into the directory that the copy was made from. It is looked at first.
import { useState } from 'preact/hooks';
import type { LandedFile, OperationResult } from '../api/types.gen';
import { useReview, type Review } from '../state/review';
import { say } from '../state/notices';
import type { RunStore } from '../state/run';
import { Button, Empty, Loading, Problem } from '../ui/basics';
import { Field, Switch } from '../ui/field';
import { many } from '../ui/format';
import { Done, Landed, touched } from './landed';

interface Plan {
  /** paths are those that were typed, where there are too many files to choose from. */
  paths: string;
  onBranch: boolean;
  branch: string;
  sensitive: boolean;
  markers: boolean;
}

export function Take({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const task = store.task.value;
  if (!task) return <Loading what="the task" />;
  if (task.workspace_mode === 'in_place') return <Empty title="There is nothing to take">The run works in the directory itself, so its changes are there already.</Empty>;
  return <Choose at={`/tasks/${run.task_id}/runs/${run.id}`} />;
}

function Choose({ at }: { at: string }) {
  const [plan, setPlan] = useState<Plan>({ paths: '', onBranch: false, branch: '', sensitive: false, markers: false });
  const [left, setLeft] = useState<Map<string, LandedFile>>(new Map());
  const [chosen, setChosen] = useState<string[]>(); // once a file is left out; all of them before
  const set = (change: Partial<Plan>) => setPlan({ ...plan, ...change });
  const typed = plan.paths.split('\n').map((p) => p.trim()).filter(Boolean);
  const paths = chosen ?? typed;
  const branch = plan.onBranch ? plan.branch.trim() : '';
  const review = useReview(at, 'take', chosen?.length === 0 ? undefined : {
    ...(paths.length > 0 && { paths }), ...(branch && { branch }), ...(plan.sensitive && { sensitive: true }), ...(plan.markers && { markers: true }),
  });
  const [last, setLast] = useState<OperationResult>();
  if (review.shown && review.shown !== last) setLast(review.shown);
  const shown = chosen?.length === 0 ? nothingOf(last) : (review.shown ?? (review.failed ? undefined : last)); // what was there stays until there is something else
  const choose = (path: string, on: boolean) => {
    const known = [...(last?.files ?? []).filter((f) => !left.has(f.path)), ...left.values()];
    const out = new Map(left);
    if (on) out.delete(path);
    else out.set(path, known.find((f) => f.path === path)!);
    setLeft(out);
    setChosen(out.size === 0 ? undefined : known.map((f) => f.path).filter((p) => !out.has(p)));
  };
  const again = () => {
    setLeft(new Map());
    setChosen(undefined);
    setLast(undefined);
    review.again();
  };
  if (review.done) return <Taken result={review.done} again={again} />;
  const cut = shown !== undefined && shown.files_count > shown.files.length;
  const nothing = shown !== undefined && shown.files_count === 0 && left.size === 0 && !plan.paths;
  return (
    <section class="review" aria-label="Take">
      {review.failed && <Problem>{review.failed} <button type="button" class="button" onClick={again}>Look again</button></Problem>}
      {!shown && !review.failed && <Loading what="what the run has changed" />}
      {nothing && <Empty title="There is nothing to take">The run has changed no files, or they were taken already.</Empty>}
      {shown && !nothing && (
        <>
          <p class="muted">Changes of the run’s copy go to <code>{shown.target}</code>. Nothing is written before you say so.</p>
          <div class="review-options">
            <Switch label="On a new branch" on={plan.onBranch} set={(onBranch) => set({ onBranch })} />
            {plan.onBranch && <Field label="Branch" name="branch" mono autofocus value={plan.branch} set={(b) => set({ branch: b })} hint="A commit on top of the last one; the files themselves stay as they are." />}
            {(shown.withheld > 0 || plan.sensitive) && <Switch label="Take sensitive files too: they make programs run, or say what agents may do" on={plan.sensitive} set={(sensitive) => set({ sensitive })} />}
            {(shown.conflicts > 0 || plan.markers) && <Switch label="Mark conflicts: write both sides into the file" on={plan.markers} set={(markers) => set({ markers })} />}
            {(cut || plan.paths) && !chosen && <Field label="Only these" name="paths" mono lines={3} value={plan.paths} set={(p) => set({ paths: p })} hint="Files, and directories with all below them; one a line." />}
          </div>
          {review.outdated && <p class="warn" role="alert">The files have changed since you looked. This is how they stand; look again before you take them.</p>}
          <Landed planned result={shown} others={[...left.values()].filter((f) => !shown.files.some((s) => s.path === f.path))} {...(!cut && { choice: { chosen: (p: string) => !left.has(p), choose } })} />
          <LeftBehind of={shown.left_behind ?? []} />
          <Go review={review} plan={plan} branch={branch} none={chosen?.length === 0} />
        </>
      )}
    </section>
  );
}

function LeftBehind({ of }: { of: string[] }) {
  if (of.length === 0) return null;
  return (
    <div class="warn">
      <p>{many(of.length, 'file')} cannot be taken, and {of.length === 1 ? 'stays' : 'stay'} in the copy:</p>
      <ul class="summary-lines">{of.map((p) => <li key={p}><code>{p}</code></li>)}</ul>
    </div>
  );
}

const nothingOf = (r: OperationResult | undefined) => r && { ...r, files: [], files_count: 0, conflicts: 0, withheld: 0, diff: '' };

function Go({ review, plan, branch, none }: { review: Review; plan: Plan; branch: string; none: boolean }) {
  const shown = review.shown;
  const n = shown ? touched(shown) : 0;
  const stuck = (shown?.conflicts ?? 0) > 0 && !plan.markers;
  const nameless = plan.onBranch && !branch;
  const what = () => {
    if (none) return 'Choose at least one file.';
    if (!shown) return review.failed ? '' : 'Looking …';
    if (stuck) return `${many(shown.conflicts, 'file conflicts', 'files conflict')}, so nothing would be written: leave out what conflicts, or have it marked.`;
    if (n === 0) return 'Nothing would be written.';
    return nameless ? 'The branch needs a name.' : '';
  };
  return (
    <div class="actions sticky">
      <span class="muted grow" role="status">
        {what()}
      </span>
      <Button kind="primary" online disabled={!shown || stuck || nameless || n === 0} act={review.go}>
        {branch ? `Take ${many(n, 'file')} onto ${branch}` : `Take ${many(n, 'file')}`}
      </Button>
    </div>
  );
}

function Taken({ result, again }: { result: OperationResult; again: () => void }) {
  const n = touched(result);
  const copy = () => navigator.clipboard?.writeText(result.commit ?? '').then(() => say('Copied.'));
  return (
    <section class="review" aria-label="Taken">
      <Done again={again}>
          {result.branch ? (
            <>{many(n, 'file')} on the new branch <code>{result.branch}</code> of <code>{result.target}</code>.</>
          ) : (
            <>{many(n, 'file')} written in <code>{result.target}</code>.</>
          )}
          {result.commit && <> Commit <button type="button" class="more" title="Copy" onClick={() => void copy()}><code>{result.commit.slice(0, 12)}</code></button></>}
      </Done>
      <Landed result={result} />
    </section>
  );
}
