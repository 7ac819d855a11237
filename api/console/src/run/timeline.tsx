// The time line of a run, as it happens.
import { useMemo, useRef } from 'preact/hooks';
import { ApprovalPanel } from '../approval/panel';
import { rowsOf, type Row } from '../state/rows';
import { hasEnded, type RunStore } from '../state/run';
import { Empty, Loading } from '../ui/basics';
import { WindowList } from '../ui/window';
import { RowView } from './row';

export function Timeline({ store }: { store: RunStore }) {
  const picture = store.picture.value;
  const facts = store.facts.value;
  const before = useRef(new Map<string, Row>());
  const rows = useMemo(() => {
    const out = rowsOf(picture, facts, before.current);
    before.current = new Map(out.map((r) => [r.key, r]));
    return out;
  }, [picture, facts]);
  if (!picture) return <Loading what="the run" />;
  const ended = hasEnded(store.run.value);
  return (
    <>
      {rows.length === 0 && (ended ? <Empty title="Nothing was done" /> : <Empty title="Nothing has happened yet">A worker takes the run as soon as one is free.</Empty>)}
      <WindowList label="Time line" items={rows} keyOf={(r) => r.key} guess={38} follow={!ended} row={(r) => <RowView row={r} />} />
    </>
  );
}

/** Banner is what the run waits for. It stands above everything else of the run. */
export function Banner({ store }: { store: RunStore }) {
  const pending = (store.picture.value?.approvals ?? []).filter((a) => a.status === 'pending');
  if (pending.length === 0 || hasEnded(store.run.value)) return null;
  return (
    <div class="banner" role="region" aria-label="Waits for your answer" aria-live="polite">
      {pending.map((a, i) => <ApprovalPanel key={a.id} approval={a} task={store.task.value} keys={i === 0} />)}
    </div>
  );
}
