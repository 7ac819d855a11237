// The conversation of a run, as the model sees it, and ways to go on from it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api/client';
import type { Message, Patch, Run } from '../api/types.gen';
import { originsOf, type Origin } from '../state/lineage';
import { hash } from '../state/router';
import { hasEnded, waiting, type RunStore } from '../state/run';
import { Arguments } from '../approval/arguments';
import { Button, Dialog, Empty, Loading } from '../ui/basics';
import { Code } from '../ui/code';
import { Markdown } from '../ui/markdown';
import { WindowList } from '../ui/window';
import { goOn } from './actions';

interface Entry {
  key: string;
  message: Message;
  /** origin is the model call that made the message, of an answer. */
  origin: Origin | undefined;
}

export function Conversation({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const artifact = store.picture.value?.artifacts?.find((a) => a.kind === 'agent_conversation');
  const entries = useMemo(() => entriesOf(artifact?.content_text, run, store.runs.value, artifact?.status === 'streaming'), [artifact?.content_text, artifact?.status, run, store.runs.value]);
  const patches = usePatches(store);
  const [asked, setAsked] = useState(0);
  if (!store.picture.value) return <Loading what="the conversation" />;
  if (entries.length === 0) return <Empty title="No conversation">{store.task.value?.execution_kind === 'agent_loop' ? 'It begins with the first model call.' : 'Only agents have one.'}</Empty>;
  const ended = hasEnded(run);
  const latest = store.runs.value[store.runs.value.length - 1];
  const free = ended && (!latest || hasEnded(latest));
  return (
    <>
      <WindowList label="Conversation" items={entries} keyOf={(e) => e.key} guess={90} follow={!ended && waiting(store).length === 0} row={(e) => <MessageView entry={e} patches={patches} again={free && e.origin && e.origin.run === 0 && e.origin.call > 0 ? () => setAsked(e.origin!.call) : undefined} />} />
      {free && <Continue at={`/tasks/${run.task_id}/runs/${run.id}`} />}
      {asked > 0 && <Again at={`/tasks/${run.task_id}/runs/${run.id}`} call={asked} close={() => setAsked(0)} />}
    </>
  );
}

/** Again asks before a model call is made again: it costs, and it works in the same files. */
function Again({ at, call, close }: { at: string; call: number; close: () => void }) {
  const go = () => goOn(`${at}/retry-from-model-call`, { model_call_index: call, reason: 'console' });
  return (
    <Dialog title={`Retry from model call ${call}`} close={close}>
      <p>Starts another run at once, which makes this model call again and goes on from its answer. Its model calls cost as those of any run do.</p>
      <p class="muted">What was done in the workspace since stays.</p>
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="primary" online act={go}>Start the run</Button>
      </div>
    </Dialog>
  );
}

/** entriesOf tells of each answer which model call made it. */
function entriesOf(text: string | undefined, run: Run, runs: Run[], streaming: boolean): Entry[] {
  if (!text) return [];
  const messages = JSON.parse(text) as Message[];
  const origins = originsOf(messages, run, runs, streaming);
  let n = 0;
  return messages.map((message, i) => ({ key: String(i), message, origin: message.role === 'assistant' ? origins[n++] : undefined }));
}

/** usePatches are what the run's file tools have written, once it is there: replaced pieces are shown with their lines. */
function usePatches(store: RunStore): Patch[] {
  const run = store.run.value!;
  const [patches, setPatches] = useState<Patch[]>([]);
  const written = store.picture.value?.artifacts?.filter((a) => a.kind === 'patch').length ?? 0;
  useEffect(() => {
    if (written > 0) get<Patch[]>(`/tasks/${run.task_id}/runs/${run.id}/patches`).then(setPatches, () => undefined); // without them pieces can be read as well
  }, [run.id, written]);
  return patches;
}

const names: Record<string, string> = { system: 'Instructions', user: 'You', assistant: 'Agent', tool: 'Result' };

function MessageView({ entry: { message: m, origin }, patches, again }: { entry: Entry; patches: Patch[]; again: (() => unknown) | undefined }) {
  const folded = m.role === 'tool' || m.role === 'system';
  return (
    <article class={`message from-${m.role} ${m.tool_error ? 'bad' : ''}`} data-item tabIndex={-1} aria-label={names[m.role] ?? m.role}>
      <header>
        <strong>{names[m.role] ?? m.role}</strong>
        {m.tool_call_id && <span class="muted">to {m.tool_call_id}{m.tool_error ? ', failed' : ''}</span>}
        {origin && <span class="muted">{originWord(origin)}</span>}
        {again && <Button kind="quiet" class="again" title="A branch: makes this model call again in another run. What was done in the workspace since stays." act={again}>↻ retry from here …</Button>}
      </header>
      {m.content && (folded ? <Code text={m.content} label={names[m.role] ?? m.role} lines={6} /> : <Markdown text={m.content} />)}
      {(m.tool_calls ?? []).map((c) => (
        <div key={c.id} class="message-call">
          <p><strong>{c.function.name}</strong> <span class="muted">{c.id}</span></p>
          <Arguments tool={c.function.name} args={parsed(c.function.arguments)} patches={patches} />
        </div>
      ))}
    </article>
  );
}

function originWord({ call, run }: Origin): string {
  return [call > 0 && `model call ${call}`, run > 0 && `of run ${run}`].filter(Boolean).join(' ');
}

/** parsed is the arguments as the model meant them, or what it wrote if that is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return { raw: text };
  }
}

function Continue({ at }: { at: string }) {
  const [prompt, setPrompt] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const asked = hash.value === '#continue';
  useEffect(() => {
    if (asked) field.current?.focus();
  }, [asked]);
  const go = () => (prompt.trim() ? goOn(at + '/continue', { prompt }) : undefined);
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault();
        void go();
      }}
    >
      <label class="field">
        <span>Go on with</span>
        <textarea
          ref={field} rows={3} placeholder="Say something more in this conversation" value={prompt} onInput={(e) => setPrompt(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void go();
          }}
        />
      </label>
      <div class="actions">
        <span class="muted">Starts another run in the same workspace.</span>
        <Button kind="primary" online act={go} disabled={!prompt.trim()} hint="Ctrl ↵">Continue</Button>
      </div>
    </form>
  );
}
