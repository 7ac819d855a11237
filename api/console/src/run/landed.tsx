// What becomes of files when changes are taken, or put back: each with its fate and its lines.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { LandedFile, OperationResult } from '../api/types.gen';
import { filesOf, type FileDiff } from '../state/hunks';
import { Button, Status } from '../ui/basics';
import { languageOf } from '../ui/code';
import { Diff } from '../ui/diff';
import { many, word } from '../ui/format';

export interface Choice {
  chosen: (path: string) => boolean;
  choose: (path: string, on: boolean) => void;
}

interface Props {
  result: OperationResult;
  /** others are files that are listed though the result leaves them out. */
  others?: LandedFile[];
  choice?: Choice;
  /** planned is whether nothing is written yet. */
  planned?: boolean;
}

/** Landed lists files with what becomes of them; each opens to its lines. */
export function Landed({ result, others, choice, planned }: Props) {
  const diffs = useMemo(() => filesOf(result.diff ?? ''), [result.diff]);
  const files = [...result.files, ...(others ?? [])].sort((a, b) => (a.path < b.path ? -1 : 1));
  const more = result.files_count - result.files.length;
  return (
    <>
      <ul class="landed" aria-label="Files">
        {files.map((f) => <File key={f.path} file={f} diff={diffs.get(f.path)} choice={choice} planned={planned} few={files.length <= 12} />)}
      </ul>
      {more > 0 && <p class="muted">… and {many(more, 'file')} more.</p>}
      {result.diff_cut && <p class="warn">The diff goes on; it is longer than can be shown.</p>}
    </>
  );
}

// What there is to see first: lines of these change nothing.
const quiet = new Set(['already', 'withheld']);
// Of longer ones one wants to see the names first.
const longMax = 400;

function File({ file: f, diff, choice, planned, few }: { file: LandedFile; diff: FileDiff | undefined; choice: Choice | undefined; planned: boolean | undefined; few: boolean }) {
  const on = choice?.chosen(f.path) ?? true;
  const lines = diff?.hunks.reduce((n, h) => n + h.old.length + h.fresh.length, 0) ?? 0;
  const [open, setOpen] = useState<boolean>();
  const shown = (open ?? (few && on && !quiet.has(f.outcome) && lines < longMax * 40)) && diff !== undefined && diff.hunks.length > 0;
  return (
    <li class={`patch ${on ? '' : 'left-out'}`} data-item tabIndex={-1}>
      <div class="patch-head">
        {choice ? (
          <label class="switch">
            <input type="checkbox" checked={on && f.outcome !== 'withheld'} disabled={f.outcome === 'withheld'} onChange={(e) => choice.choose(f.path, e.currentTarget.checked)} />
            <code class="patch-path">{f.path}</code>
          </label>
        ) : <code class="patch-path">{f.path}</code>}
        {on ? <Status of={(planned ? planTones[f.outcome] : undefined) ?? tones[f.outcome]}>{(planned && plans[f.outcome]) || word(f.outcome)}</Status> : <span class="muted">left out</span>}
        {f.class && <span class="chip level-2">{f.class}</span>}
        {f.outcome === 'conflicted' && on && <span class="error-text">{f.reason}</span>}
        {diff?.remark && <span class="muted">{diff.remark}</span>}
        <span class="grow" />
        {diff && diff.hunks.length > 0 && (
          <button type="button" class="more" aria-expanded={shown} onClick={() => setOpen(!shown)}>{shown ? 'Hide lines' : 'Show lines'}</button>
        )}
      </div>
      {shown && diff.hunks.map((h) => (
        <Diff key={`${h.before}/${h.after}`} before={h.old} after={h.fresh} from={h} language={languageOf(f.path)} label={`Change of ${f.path}, line ${h.after}`} />
      ))}
    </li>
  );
}

/** Done says what was done, where it is seen and heard though the list above was long. */
export function Done({ again, children }: { again: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div class="done" ref={box} tabIndex={-1}>
      <p>{children}</p>
      <Button kind="quiet" act={again}>Look again</Button>
    </div>
  );
}

/** tones say what an outcome means for the person who reads it, in words that Status has a colour for. */
const tones: Record<LandedFile['outcome'], string> = {
  written: 'done', merged: 'done', deleted: 'lost', already: '', conflicted: 'failed', withheld: 'waiting',
};

/** plans say the same of what is only looked at. */
const plans: Partial<Record<LandedFile['outcome'], string>> = { written: 'to be written', merged: 'to be merged', deleted: 'to be deleted', conflicted: 'in conflict' };

/** planTones keep green for what is done. */
const planTones: Partial<Record<LandedFile['outcome'], string>> = { written: 'requested', merged: 'requested' };

/** touched counts the files that are, or would be, changed. */
export function touched(result: OperationResult): number {
  const known = result.files.filter((f) => !quiet.has(f.outcome)).length;
  return known + Math.max(0, result.files_count - result.files.length);
}
