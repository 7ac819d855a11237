// What a run changed with its file tools, or proposes to change: read it, apply it, take it back.
import { useEffect, useState } from 'preact/hooks';
import { ask, get, inOneSentence } from '../api/client';
import type { OperationItem, Patch } from '../api/types.gen';
import { deedsOf, type Deed } from '../state/deeds';
import { attempt, say } from '../state/notices';
import { settled } from '../state/operation';
import { hash, runPath } from '../state/router';
import { hasEnded, type RunStore } from '../state/run';
import { textsOf } from '../state/patch';
import { Button, Empty, Loading, Problem, Status } from '../ui/basics';
import { languageOf } from '../ui/code';
import { Diff } from '../ui/diff';
import { baseName } from '../ui/format';

const key = 'hecate.diff';

export function Changes({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const at = `/tasks/${run.task_id}/runs/${run.id}`;
  const [patches, setPatches] = useState<Patch[]>();
  const [failed, setFailed] = useState('');
  const [side, setSide] = useState(localStorage.getItem(key) === 'side');
  const known = (store.picture.value?.artifacts ?? []).filter((a) => a.kind === 'patch').map((a) => a.id + a.status).join();
  const [deeds, setDeeds] = useState<Deed[]>([]);
  const load = async () => {
    try {
      setPatches((await get<Patch[]>(at + '/patches')).reverse());
      const found = await deedsOf(run).catch(() => []); // without them nothing can be undone from here, but from Restore
      setDeeds(found);
      return found;
    } catch (e) {
      setFailed(inOneSentence(e));
      return [];
    }
  };
  useEffect(() => void load(), [at, known]);
  const there = patches !== undefined;
  useEffect(() => {
    if (there && hash.value) document.getElementById(hash.value.slice(1))?.scrollIntoView();
  }, [there]);
  if (failed) return <Problem>{failed}</Problem>;
  if (!patches) return <Loading what="changes" />;
  if (patches.length === 0) return <Empty title="No changes">What file tools write, or propose to write, is here. What commands change is under <a href={runPath(run.task_id, run.id, 'take')}>Take</a>.</Empty>;
  const turn = (wanted: boolean) => {
    localStorage.setItem(key, wanted ? 'side' : 'unified');
    setSide(wanted);
  };
  const undo = (of: Deed[], artifact: string) => {
    const last = of.find((d) => d.artifact === artifact);
    return last?.reverts ? `${runPath(run.task_id, run.id, 'restore')}?before=${last.operation}` : '';
  };
  const still = hasEnded(run) || run.status === 'awaiting_approval';
  return (
    <>
      <div class="bar">
        <ul class="file-list" aria-label="Changed files">
          {patches.map((p) => <li key={p.artifact.id}><a href={`#${p.artifact.id}`}>{baseName(p.path)}</a></li>)}
        </ul>
        <div class="filters wide-only" role="group" aria-label="Show changes">
          <button type="button" class="filter" aria-pressed={!side} onClick={() => turn(false)}>Unified</button>
          <button type="button" class="filter" aria-pressed={side} onClick={() => turn(true)}>Side by side</button>
        </div>
      </div>
      {patches.map((p) => <PatchView key={p.artifact.id} patch={p} at={at} side={side} still={still} root={run.workspace_path ?? ''} undo={undo(deeds, p.artifact.id)} changed={async () => undo(await load(), p.artifact.id)} />)}
    </>
  );
}

interface Props {
  patch: Patch;
  at: string;
  side: boolean;
  /** still is whether nothing is at work in the workspace. */
  still: boolean;
  root: string;
  /** undo is where a change that was taken back is made again; empty if it was not. */
  undo: string;
  /** changed reads anew how it stands, and returns undo as it is then. */
  changed: () => Promise<string>;
}

function PatchView({ patch: p, at, side, still, root, undo, changed }: Props) {
  const path = (p.path ?? '').startsWith(root + '/') ? p.path!.slice(root.length + 1) : (p.path ?? '');
  const { before, after } = textsOf(p.diff);
  const change = (what: 'apply' | 'revert', done: string) =>
    attempt(async () => {
      await operate(at, p.artifact.id, what);
      const back = await changed();
      say(done, false, back ? { href: back, text: again } : undefined);
    }).then(async (well) => {
      if (!well) await changed();
    });
  return (
    <section class="patch" id={p.artifact.id} data-item tabIndex={-1} aria-label={path}>
      <header class="patch-head">
        <code class="patch-path" title={p.path}>{path}</code>
        {!p.before_existed && <span class="chip">new file</span>}
        <Status of={p.status} />
        <span class="grow" />
        {p.status === 'proposed' && <Button kind="primary" online disabled={!still} aria-label={`Apply ${path}`} act={() => change('apply', `${path} is written.`)}>Apply</Button>}
        {p.status === 'reverted' && undo && still && <a class="button quiet" href={undo} aria-label={`Apply ${path} again`} title="Shows what the workspace was like before the change was taken back, and puts it back">{again}</a>}
        {p.status === 'applied' && <Button kind="quiet" online disabled={!still} aria-label={`Revert ${path}`} act={() => change('revert', `${path} is as it was before the change.`)}>Revert</Button>}
      </header>
      <Diff before={before} after={after} language={languageOf(p.path)} label={`Change of ${path}`} side={side} />
    </section>
  );
}

const again = 'Apply again …';

/** operate has a worker apply a patch or take it back, and returns when that is done. */
async function operate(at: string, patch: string, what: 'apply' | 'revert'): Promise<void> {
  const answer = await ask<Patch | OperationItem>('POST', `${at}/patches/${patch}/${what}`);
  if (answer.status === 202) await settled(at, answer.data as OperationItem);
}
