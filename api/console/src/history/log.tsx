// Events, the newest first: of a run, of a task or of everything.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { eventTypes } from '../api/events.gen';
import type { Event } from '../api/types.gen';
import { holds, narrowed, nothing, scopeOf, type Filter } from '../state/filter';
import { by } from '../state/follows';
import { gist, type Finder } from '../state/gist';
import { openHistory, type History, type Scope } from '../state/history';
import { Button, Empty, Loading, Problem, Time } from '../ui/basics';
import { Field, Pick } from '../ui/field';
import { many, short } from '../ui/format';
import { Icon } from '../ui/icon';
import { WindowList } from '../ui/window';
import { EventDetail } from './event';
import { Export } from './export';

interface Props {
  task: string;
  run: string;
  filter: Filter;
  set: (change: Partial<Filter>) => void;
}

export function EventLog({ task, run, filter: f, set }: Props) {
  const scope = scopeOf(f, task, run, eventTypes);
  const history = useHistory(scope);
  const events = history?.events.value;
  const keep = useMemo(() => holds(f.words), [f.words]);
  const shown = useMemo(() => events?.filter(keep) ?? [], [events, keep]);
  return (
    <>
      <Filters run={run} filter={f} set={set} events={events} />
      <div class="log-tools">
        <label class="search">
          <Icon name="search" />
          <input type="search" data-search placeholder="Search in what is loaded" aria-label="Search events" value={f.words} onInput={(e) => set({ words: e.currentTarget.value })} />
          <kbd aria-hidden="true">/</kbd>
        </label>
        <Export scope={scope} keep={keep} />
      </div>
      <List history={history} shown={shown} run={run} narrowed={narrowed(f)} clear={() => set(nothing)} />
    </>
  );
}

const groups = [...new Set(eventTypes.map((t) => t.slice(0, t.indexOf('.') + 1)))].filter(Boolean);
const typeOptions: [string, string][] = [['', 'All types'], ...groups.map((g): [string, string] => [g, `${g}*`]), ...eventTypes.map((t): [string, string] => [t, t])];
const kinds = ['operator', 'client', 'worker', 'schedule', 'system'];

function Filters({ run, filter: f, set, events }: { run: string; filter: Filter; set: Props['set']; events: Event[] | undefined }) {
  const people = useSeen(events, by);
  const tools = useSeen(events, (e) => (typeof e.data.tool_name === 'string' ? e.data.tool_name : ''));
  // Clients have types of their own.
  const types = f.type && !typeOptions.some(([v]) => v === f.type) ? [...typeOptions, [f.type, f.type] as [string, string]] : typeOptions;
  const text = (name: keyof Filter) => ({ name, value: f[name], set: (value: string) => set({ [name]: value }), late: true, mono: true });
  const rare = Boolean(f.tool || f.path || f.host || f.secret || f.approval || f.run);
  return (
    <>
      <div class="log-filters">
        <Pick label="Type" name="type" value={f.type} set={(type) => set({ type })} options={types} />
        <Field {...text('by')} label="By" suggest={[...kinds, ...people]} placeholder="Anybody" />
        <Moment label="Since" value={f.since} set={(since) => set({ since })} />
        <Moment label="Until" value={f.until} set={(until) => set({ until })} />
      </div>
      <details class="more-fields" open={rare}>
        <summary>More filters</summary>
        <div class="log-filters">
          {!run && <Field {...text('run')} label="Run" placeholder="run_…" />}
          <Field {...text('tool')} label="Tool" suggest={tools} placeholder="shell_exec" />
          <Field {...text('path')} label="Path" placeholder="go.mod, or internal/" />
          <Field {...text('host')} label="Host" placeholder="docs.rs" />
          <Field {...text('secret')} label="Secret" placeholder="OPENAI_API_KEY" />
          <Field {...text('approval')} label="Approval" placeholder="approval_…" />
        </div>
      </details>
    </>
  );
}

interface ListProps {
  history: History | undefined;
  shown: Event[];
  run: string;
  narrowed: boolean;
  clear: () => void;
}

function List({ history: h, shown, run, narrowed, clear }: ListProps) {
  const events = h?.events.value ?? none;
  const find = useMemo((): Finder => {
    const known = new Map(events.map((e) => [e.sequence, e]));
    return (sequence) => known.get(sequence);
  }, [events]);
  const oldest = events[events.length - 1];
  if (!h || (!h.ready.value && !h.failed.value)) return <Loading what="events" />;
  return (
    <>
      {h.failed.value && <Problem>{h.failed.value}</Problem>}
      {h.ready.value && (
        <p class="muted log-count" role="status">
          {shown.length === events.length ? many(events.length, 'event') : `${many(shown.length, 'event')} of ${many(events.length, 'loaded one')} match`}
          {h.more.value && oldest && <>, back to <Time at={oldest.occurred_at} /></>}
        </p>
      )}
      {h.ready.value && shown.length === 0 && (
        <Empty title={narrowed ? 'No event matches the filters' : 'There are no events'}>
          {h.more.value && 'Older ones may. '}
          {narrowed && <button type="button" class="more" onClick={clear}>Clear all filters</button>}
        </Empty>
      )}
      <WindowList label="Events, newest first" items={shown} keyOf={(e) => String(e.sequence)} guess={37} row={(e) => <Row event={e} run={run} find={find} />} />
      {h.ready.value && h.more.value && <p class="more-row"><Button kind="quiet" act={h.older}>Load older events</Button></p>}
    </>
  );
}

const none: Event[] = [];

function Row({ event: e, run, find }: { event: Event; run: string; find: Finder }) {
  const [open, setOpen] = useState(false);
  const name = e.run_id || e.task_id || '';
  return (
    <article class="row">
      <button type="button" class="event-head" data-item aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="row-time"><Time at={e.occurred_at} exact={isToday(e.occurred_at)} /></span>
        <code class="event-type">{e.type}</code>
        <span class="row-line">{gist(e, find)}</span>
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
