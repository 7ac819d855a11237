// The time line of a run, as it happens.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApprovalPanel } from '../approval/panel';
import { rowsOf, type Row } from '../state/rows';
import { hasEnded, waiting, type RunStore } from '../state/run';
import { Empty, Loading } from '../ui/basics';
import { Icon } from '../ui/icon';
import { followsEnd, WindowList } from '../ui/window';
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
  if (!picture || !store.told.value) return <Loading what="the run" />;
  const ended = hasEnded(store.run.value);
  // The question stands above: a list that follows its own end would take it out of sight.
  const follow = !ended && waiting(store).length === 0;
  return (
    <>
      {rows.length === 0 && (ended ? <Empty title="Nothing was done" /> : <Empty title="Nothing has happened yet">A worker takes the run as soon as one is free.</Empty>)}
      <WindowList label="Time line" items={rows} keyOf={(r) => r.key} guess={38} follow={follow} row={(r) => <RowView row={r} />} />
    </>
  );
}

/** Banner is what the run waits for. It stands above everything else of the run. */
export function Banner({ store }: { store: RunStore }) {
  const pending = waiting(store);
  if (pending.length === 0) return null;
  return (
    <InSight>
      {pending.map((a, i) => <ApprovalPanel key={a.id} approval={a} task={store.task.value} keys={i === 0} />)}
    </InSight>
  );
}

/** InSight brings a question to those who watch the run's end, and leaves a way to it to those who read elsewhere. */
function InSight({ children }: { children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [away, setAway] = useState(false);
  useEffect(() => {
    const top = box.current!.getBoundingClientRect().top;
    if (followsEnd() && (top < 48 || top > window.innerHeight / 2)) box.current!.scrollIntoView();
    const watch = new IntersectionObserver(([seen]) => setAway(!seen!.isIntersecting), { rootMargin: '-48px 0px 0px' });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <>
      <div class="banner" ref={box} role="region" aria-label="Waits for your answer" aria-live="polite">{children}</div>
      {away && <button type="button" class="button primary to-banner" onClick={() => box.current?.scrollIntoView()}><Icon name="inbox" /> It waits for your answer</button>}
    </>
  );
}
