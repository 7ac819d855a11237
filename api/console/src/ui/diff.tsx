// What changed in a text: line by line, with the words that differ, one below the other or side by side.
import { useMemo, useState } from 'preact/hooks';
import { coloured, useHighlighter } from './code';
import { compare, fold, numbered, pairs, type First, type Line } from './compare';

interface Props {
  before: string;
  after: string;
  language: string;
  label: string;
  side?: boolean;
  /** bare leaves line numbers out: of a piece that may stand anywhere. */
  bare?: boolean;
  /** from has the numbers of the first lines; 1 if it is absent. */
  from?: First;
}

export function Diff({ before, after, language, label, side, bare, from }: Props) {
  const h = useHighlighter(Boolean(language));
  const lines = useMemo(() => numbered(compare(before, after, (text) => coloured(h, text, language)), from), [before, after, h, language, from]);
  const [open, setOpen] = useState<Set<number>>(new Set());
  const blocks = useMemo(() => fold(lines), [lines]);
  return (
    <div class={`diff ${side ? 'side' : ''} ${bare ? 'bare' : ''}`} role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption class="hidden">{label}</caption>
        <tbody>
          {blocks.map((b, i) =>
            b.folded && !open.has(i) ? (
              <tr key={i} class="fold">
                <td colSpan={side ? 4 : 3}>
                  <button type="button" onClick={() => setOpen(new Set(open).add(i))}>{b.lines.length} unchanged lines</button>
                </td>
              </tr>
            ) : side ? (
              pairs(b.lines).map(([l, r], n) => <SideRow key={`${i}.${n}`} left={l} right={r} />)
            ) : (
              b.lines.map((l, n) => <Row key={`${i}.${n}`} line={l} />)
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

const signs = { same: ' ', old: '−', new: '+' };

function Row({ line: l }: { line: Line }) {
  return (
    <tr class={l.kind}>
      <td class="n">{l.before}</td>
      <td class="n">{l.after}</td>
      <td class="text"><span class="sign" aria-hidden={l.kind === 'same'}>{signs[l.kind]}</span><span dangerouslySetInnerHTML={{ __html: l.html }} /></td>
    </tr>
  );
}

function SideRow({ left, right }: { left?: Line; right?: Line }) {
  return (
    <tr>
      <td class={`n ${left?.kind ?? 'none'}`}>{left?.before}</td>
      <td class={`text ${left?.kind ?? 'none'}`} dangerouslySetInnerHTML={{ __html: left?.html ?? '' }} />
      <td class={`n ${right?.kind ?? 'none'}`}>{right?.after}</td>
      <td class={`text ${right?.kind ?? 'none'}`} dangerouslySetInnerHTML={{ __html: right?.html ?? '' }} />
    </tr>
  );
}
