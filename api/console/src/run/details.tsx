// What a row has to show: arguments, output and result, and below it, on request, everything that is recorded.
import { useEffect, useState } from 'preact/hooks';
import { get, inOneSentence } from '../api/client';
import type { Artifact } from '../api/types.gen';
import { Answered } from '../approval/answered';
import { Arguments } from '../approval/arguments';
import type { Row } from '../state/rows';
import { Facts, Problem, Status, Time } from '../ui/basics';
import { Code, languageOf } from '../ui/code';
import { baseName, count, duration, between, exactly, size, word } from '../ui/format';
import { Markdown } from '../ui/markdown';
import { Settle } from './settle';

/** Glimpse is what a failed row shows unasked. */
export function Glimpse({ row }: { row: Row }) {
  const error = row.step?.error ?? String(row.activity.summary?.reason ?? '');
  return (
    <div class="row-body glimpse">
      {error && <p class="error-text">{error}</p>}
      {row.outputs.filter(hasContent).map((o) => <Output key={o.id} of={o} lines={8} />)}
    </div>
  );
}

export function Details({ row }: { row: Row }) {
  const a = row.activity;
  return (
    <div class="row-body">
      {row.step?.error && <p class="error-text">{row.step.error}</p>}
      {row.tool && <Arguments tool={row.tool.tool} args={row.tool.args} />}
      {row.outputs.length > 0 && <Streams of={row.outputs} />}
      {row.outputs.filter(hasContent).map((o) => <Output key={o.id} of={o} lines={40} />)}
      {row.tool?.result && row.outputs.length === 0 && <Code text={row.tool.result} language={languageOf(String(row.step?.input?.path ?? ''))} label="Result" lines={30} />}
      {row.made.length > 0 && <Made of={row.made} />}
      {row.approval && <Answered approval={row.approval} />}
      {row.step?.outcome === 'unknown' && <Settle at={row.at} step={row.step.id} />}
      {a.artifact_id && <Content row={row} />}
      {row.step && a.type === 'tool_call' && <p><a href={`${row.at}/restore?before=${row.step.id}`}>Put the workspace back to before this</a></p>}
      {row.model && (
        <Facts of={[['Model', row.model.model], ['Tokens in', row.model.inputTokens !== undefined && count(row.model.inputTokens)], ['Tokens out', row.model.outputTokens !== undefined && count(row.model.outputTokens)], ['Cost', row.model.costKnown ? exactly(row.model.cost) : 'not known']]} />
      )}
      <Advanced row={row} />
    </div>
  );
}

/** Streams says of each stream whether there is something in it. */
function Streams({ of }: { of: Artifact[] }) {
  const words = of.map((o) => (hasContent(o) ? (o.kind === 'stdout' ? `stdout ${size(o.size_bytes)}` : `${o.kind} available`) : `${o.kind} empty`));
  return <p class="muted streams">{words.join(' · ')}</p>;
}

const hasContent = (o: Artifact) => (o.size_bytes ?? 0) > 0 || Boolean(o.content_text);

/** Output is one stream. stdout needs no label of its own; stderr has one. */
function Output({ of, lines }: { of: Artifact; lines: number }) {
  const { text, failed } = useContent(of);
  return (
    <div class={`output ${of.kind}`}>
      <p class="output-head">{of.kind} <span class="muted">{size(of.size_bytes)}{of.status === 'streaming' ? ', still coming' : ''}</span></p>
      {failed ? <Problem>{failed}</Problem> : <Code text={text} label={of.kind} lines={lines} />}
    </div>
  );
}

/** useContent is the text of an artifact; pictures may leave long ones out. */
function useContent(of: Artifact): { text: string; failed: string } {
  const [fetched, setFetched] = useState({ text: '', failed: '' });
  const missing = of.content_text === undefined && (of.size_bytes ?? 0) > 0;
  useEffect(() => {
    if (!missing) return;
    get<Artifact>(`/tasks/${of.task_id}/runs/${of.run_id}/artifacts/${of.id}`).then(
      (a) => setFetched({ text: a.content_text ?? '', failed: '' }),
      (e) => setFetched({ text: '', failed: inOneSentence(e) }),
    );
  }, [of.id, of.size_bytes, of.status, missing]);
  return missing ? fetched : { text: of.content_text ?? '', failed: '' };
}

function Made({ of }: { of: Artifact[] }) {
  return (
    <ul class="made">
      {of.map((m) => (
        <li key={m.id}>
          <span class="muted">{word(m.kind)}</span> <span title={m.path}>{baseName(m.path) || m.name}</span> {m.kind === 'patch' && <Status of={m.status} />}
          {m.kind === 'patch' && <a href={`/tasks/${m.task_id}/runs/${m.run_id}/changes#${m.id}`}>Review</a>}
        </li>
      ))}
    </ul>
  );
}

/** Content shows an artifact that has a row of its own. */
function Content({ row }: { row: Row }) {
  const a = row.activity;
  const [artifact, setArtifact] = useState<Artifact>();
  const [failed, setFailed] = useState('');
  useEffect(() => {
    get<Artifact>(`${row.at}/artifacts/${a.artifact_id}`).then(setArtifact, (e) => setFailed(inOneSentence(e)));
  }, [a.artifact_id]);
  if (failed) return <Problem>{failed}</Problem>;
  if (!artifact) return <p class="muted">Loading …</p>;
  if (a.type === 'final_answer') return <Markdown text={artifact.content_text ?? ''} />;
  return <Code text={artifact.content_text ?? ''} language={artifact.mime_type === 'application/json' ? 'json' : languageOf(artifact.path)} label={artifact.name ?? 'Content'} lines={40} />;
}

/** Advanced is for those who look for what went wrong: ids, kinds, paths and what was recorded, as it is. */
function Advanced({ row }: { row: Row }) {
  const a = row.activity;
  const s = row.step;
  return (
    <details class="advanced">
      <summary>Advanced</summary>
      <Facts
        of={[
          ['Kind', a.kind], ['Type', a.type], ['Phase', s?.phase], ['Result', s?.result], ['Error kind', s?.error_kind], ['Outcome', s?.outcome],
          ['Exit code', s?.exit_code !== undefined ? String(s.exit_code) : undefined],
          ['Began', s?.started_at && <Time at={s.started_at} exact />], ['Took', s?.finished_at && duration(between(s.started_at, s.finished_at))],
          ['Step', a.step_id && <code>{a.step_id}</code>], ['Call', row.tool && <code>{row.tool.id}</code>],
          ['Approval', a.approval_id && <code>{a.approval_id}</code>], ['Artifact', a.artifact_id && <code>{a.artifact_id}</code>],
          ['Path', a.path && <code>{a.path}</code>], ['Trace', s?.trace_id && <code>{s.trace_id}</code>],
        ]}
      />
      {row.outputs.filter((o) => !hasContent(o)).map((o) => (
        <p key={o.id} class="output-head">{o.kind} <span class="muted">No bytes captured for this stream.</span></p>
      ))}
      <Code text={JSON.stringify({ activity: a, ...(s && { step: s }) }, null, 2)} language="json" label="As it is recorded" lines={60} />
    </details>
  );
}
