// Events, the newest first: of a run, of a task or of everything.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Event } from '../api/types.gen';
import { by, gist } from '../state/follows';
import { openHistory, type History, type Scope } from '../state/history';
import { Button, Empty, Loading, Problem, Time } from '../ui/basics';
import { Pick } from '../ui/field';
import { many, short } from '../ui/format';
import { Icon } from '../ui/icon';
import { WindowList } from '../ui/window';
import { EventDetail } from './event';
import { Export } from './export';

/** Filter is what is chosen from the events that were read. Times are those of fields: local, without a zone. */
export interface Filter {
  type: string;
  by: string;
  since: string;
  until: string;
  words: string;
}

interface Props {
  task: string;
  run: string;
  filter: Filter;
  set: (change: Partial<Filter>) => void;
}

export function EventLog({ task, run, filter: f, set }: Props) {
  const scope: Scope = { task, run, type: f.type.endsWith('.') ? '' : f.type, since: utc(f.since), until: utc(f.until) };
  const history = useHistory(scope);
  const events = history?.events.value;
  const types = useSeen(events, (e) => e.type);
  const people = useSeen(events, by);
  const keep = useMemo(() => matcher(f), [f.type, f.by, f.words]);
  const shown = useMemo(() => events?.filter(keep) ?? [], [events, keep]);
  const groups = [...new Set(types.map((t) => t.slice(0, t.indexOf('.') + 1)))].filter(Boolean).sort();
  const options: [string, string][] = [['', 'All types'], ...groups.map((g): [string, string] => [g, `${g}*`]), ...types.map((t): [string, string] => [t, t])];
  if (f.type && !options.some(([v]) => v === f.type)) options.push([f.type, f.type]);
  return (
    <>
      <div class="log-filters">
        <Pick label="Type" name="type" value={f.type} set={(type) => set({ type })} options={options} />
        <Pick label="By" name="by" value={f.by} set={(by) => set({ by })} options={[['', 'Anybody, anything'], ...people.map((p): [string, string] => [p, p])]} />
        <Moment label="Since" value={f.since} set={(since) => set({ since })} />
        <Moment label="Until" value={f.until} set={(until) => set({ until })} />
        <label class="search">
          <Icon name="search" />
          <input type="search" data-search placeholder="Search in what is loaded" aria-label="Search events" value={f.words} onInput={(e) => set({ words: e.currentTarget.value })} />
          <kbd aria-hidden="true">/</kbd>
        </label>
        <Export scope={scope} keep={keep} />
      </div>
      <List history={history} shown={shown} run={run} />
    </>
  );
}

function List({ history: h, shown, run }: { history: History | undefined; shown: Event[]; run: string }) {
  const events = h?.events.value ?? [];
  const oldest = events[events.length - 1];
  if (!h || (!h.ready.value && !h.failed.value)) return <Loading what="events" />;
  return (
    <>
      {h.failed.value && <Problem>{h.failed.value}</Problem>}
      <p class="muted log-count" role="status">
        {shown.length === events.length ? many(events.length, 'event') : `${many(shown.length, 'event')} of ${many(events.length, 'loaded one')} match`}
        {h.more.value && oldest && <>, back to <Time at={oldest.occurred_at} /></>}
      </p>
      {shown.length === 0 && <Empty title={events.length ? 'No event matches' : 'There are no events'}>{h.more.value ? 'Older ones may.' : undefined}</Empty>}
      <WindowList label="Events, newest first" items={shown} keyOf={(e) => String(e.sequence)} guess={37} row={(e) => <Row event={e} run={run} />} />
      {h.more.value && <p class="more-row"><Button kind="quiet" act={h.older}>Load older events</Button></p>}
    </>
  );
}

function Row({ event: e, run }: { event: Event; run: string }) {
  const [open, setOpen] = useState(false);
  const name = e.run_id || e.task_id || '';
  return (
    <article class="row">
      <button type="button" class="event-head" data-item aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="row-time"><Time at={e.occurred_at} exact={isToday(e.occurred_at)} /></span>
        <code class="event-type">{e.type}</code>
        <span class="row-line">{gist(e)}</span>
        {!run && <code class="muted event-run">{short(name)}</code>}
        <span class={`row-open ${open ? 'down' : ''}`}><Icon name="right" /></span>
      </button>
      {open && <EventDetail event={e} />}
    </article>
  );
}

const isToday = (at: string) => new Date(at).toDateString() === new Date().toDateString();

function Moment({ label, value, set }: { label: string; value: string; set: (v: string) => void }) {
  return (
    <label class="field moment">
      <span>{label}</span>
      <input type="datetime-local" name={label.toLowerCase()} value={value} onChange={(e) => set(e.currentTarget.value)} />
    </label>
  );
}

/** utc is a local time of a field as the API has times; empty if it is none. */
function utc(local: string): string {
  const d = new Date(local);
  return local && !Number.isNaN(d.getTime()) ? d.toISOString() : '';
}

function useHistory(scope: Scope): History | undefined {
  const [history, setHistory] = useState<History>();
  useEffect(() => {
    const h = openHistory(scope);
    setHistory(h);
    return h.close;
  }, [JSON.stringify(scope)]);
  return history;
}

/** useSeen are all values that events ever had here: choosing one of them does not hide the others. */
function useSeen(events: Event[] | undefined, of: (e: Event) => string): string[] {
  const [seen] = useState(new Set<string>());
  for (const e of events ?? []) if (of(e)) seen.add(of(e));
  return [...seen].sort();
}

function matcher(f: Filter): (e: Event) => boolean {
  const words = f.words.toLowerCase().split(/\s+/).filter(Boolean);
  return (e) => {
    if (f.type && e.type !== f.type && !(f.type.endsWith('.') && e.type.startsWith(f.type))) return false;
    if (f.by && by(e) !== f.by) return false;
    if (words.length === 0) return true;
    const text = JSON.stringify(e).toLowerCase();
    return words.every((w) => text.includes(w));
  };
}
