// One row of a time line. All kinds of activity look the same; what they have to show differs.
import { memo } from '../ui/memo';
import { useState } from 'preact/hooks';
import type { Row } from '../state/rows';
import { Status, Time, tone } from '../ui/basics';
import { between, duration, exactly, money, pathTail, word } from '../ui/format';
import { Icon } from '../ui/icon';
import { Markdown } from '../ui/markdown';
import { Details, Glimpse } from './details';

export const RowView = memo(function RowView({ row }: { row: Row }) {
  const a = row.activity;
  const s = row.step;
  // What a direct command printed is what one came for.
  const [open, setOpen] = useState(s?.kind === 'shell' || s?.kind === 'git');
  const status = a.needs_action ? 'waiting' : a.status;
  const took = s?.started_at && s.finished_at ? duration(between(s.started_at, s.finished_at)) : '';
  const failed = tone(status) === 'bad';
  return (
    <article class={`row row-${a.type} ${tone(status)}`}>
      <button type="button" class="row-head" data-item aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="row-time"><Time at={a.occurred_at} exact /></span>
        <span class={`row-mark ${tone(status)}`} aria-hidden="true" />
        <span class="row-title">{title(row)}</span>
        <span class="row-line">{line(row)}</span>
        {loud(a.type, status) && <Status of={status} />}
        <span class="row-figures">
          {row.model?.done && <span class="cost" title={row.model.costKnown ? `${exactly(row.model.cost)}, shown rounded` : undefined}>{row.model.costKnown ? money(row.model.cost) : 'cost unknown'}</span>}
          {took && <span>{took}</span>}
        </span>
        <span class={`row-open ${open ? 'down' : ''}`}><Icon name="right" /></span>
      </button>
      {(row.model?.text || row.partial) && (
        <div class={`row-text ${row.partial && !row.model?.text ? 'coming' : ''}`}>
          <Markdown text={row.model?.text || row.partial || ''} />
        </div>
      )}
      {failed && !open && <Glimpse row={row} />}
      {open && <Details row={row} />}
    </article>
  );
});

/** loud reports whether a status is worth a word: that something is done is what one expects. */
function loud(type: string, status: string | undefined): boolean {
  return type === 'run_result' || type === 'approval' || type === 'patch' || !['completed', 'ready', undefined, ''].includes(status);
}

function title(r: Row): string {
  const a = r.activity;
  switch (a.type) {
    case 'approval': return 'Approval';
    case 'tool_call': return a.tool_name || a.title || 'Tool';
    case 'run_result': return `Run ${word(a.status)}`;
    case 'final_answer': return 'Final answer';
    case 'changed_files': return 'Changed files';
  }
  return a.title || word(a.type);
}

/** line is what tells this row from others of its kind. */
function line(r: Row): string {
  const a = r.activity;
  const input = { ...((r.tool?.args ?? {}) as Record<string, unknown>), ...(r.step?.input ?? {}) } as Record<string, unknown>;
  if (a.type === 'run_result') return a.title === `Run ${a.status}` ? '' : (a.title ?? '');
  if (a.type === 'approval') return String(a.summary?.reason ?? '');
  if (a.type === 'thinking') return calls(a.summary?.tool_calls);
  if (a.type === 'tool_call') {
    const about = input.command ?? (typeof input.path === 'string' ? pathTail(input.path) : undefined) ?? input.pattern ?? input.url ?? input.query ?? input.terminal_id;
    return typeof about === 'string' ? about : a.title !== a.tool_name ? (a.title ?? '') : '';
  }
  return pathTail(a.path);
}

function calls(names: unknown): string {
  return Array.isArray(names) && names.length > 0 ? `asks for ${names.join(', ')}` : '';
}
