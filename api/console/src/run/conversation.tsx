// The conversation of a run, as the model sees it, and ways to go on from it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Message } from '../api/types.gen';
import { hash } from '../state/router';
import { hasEnded, waiting, type RunStore } from '../state/run';
import { Arguments } from '../approval/arguments';
import { Button, Empty, Loading } from '../ui/basics';
import { Code } from '../ui/code';
import { Markdown } from '../ui/markdown';
import { WindowList } from '../ui/window';
import { goOn } from './actions';

interface Entry {
  key: string;
  message: Message;
  /** call is the model call of this run that made the message; 0 if another run's did. */
  call: number;
}

export function Conversation({ store }: { store: RunStore }) {
  const run = store.run.value!;
  const artifact = store.picture.value?.artifacts?.find((a) => a.kind === 'agent_conversation');
  const entries = useMemo(() => entriesOf(artifact?.content_text, run.model_call_count, artifact?.status === 'streaming'), [artifact?.content_text, artifact?.status, run.model_call_count]);
  if (!store.picture.value) return <Loading what="the conversation" />;
  if (entries.length === 0) return <Empty title="No conversation">{store.task.value?.execution_kind === 'agent_loop' ? 'It begins with the first model call.' : 'Only agents have one.'}</Empty>;
  const ended = hasEnded(run);
  const latest = store.runs.value[store.runs.value.length - 1];
  const free = ended && (!latest || hasEnded(latest));
  return (
    <>
      <WindowList label="Conversation" items={entries} keyOf={(e) => e.key} guess={90} follow={!ended && waiting(store).length === 0} row={(e) => <MessageView entry={e} again={free && e.call > 0 ? () => again(e.call) : undefined} />} />
      {free && <Continue at={`/tasks/${run.task_id}/runs/${run.id}`} />}
    </>
  );

  function again(call: number) {
    return goOn(`/tasks/${run.task_id}/runs/${run.id}/retry-from-model-call`, { model_call_index: call, reason: 'console' });
  }
}

/** entriesOf numbers the answers of this run: they are the last ones, what stands before was inherited. */
function entriesOf(text: string | undefined, calls: number, streaming: boolean): Entry[] {
  if (!text) return [];
  const messages = JSON.parse(text) as Message[];
  const answers = messages.filter((m) => m.role === 'assistant').length;
  const half = streaming && messages[messages.length - 1]?.role === 'assistant' && answers > 0 && !messages[messages.length - 1]!.tool_calls ? 1 : 0;
  let call = calls - (answers - half);
  return messages.map((message, i) => ({ key: String(i), message, call: message.role === 'assistant' ? Math.min(Math.max(0, ++call), calls) : 0 }));
}

const names: Record<string, string> = { system: 'Instructions', user: 'You', assistant: 'Agent', tool: 'Result' };

function MessageView({ entry: { message: m, call }, again }: { entry: Entry; again: (() => unknown) | undefined }) {
  const folded = m.role === 'tool' || m.role === 'system';
  return (
    <article class={`message from-${m.role} ${m.tool_error ? 'bad' : ''}`} data-item tabIndex={-1} aria-label={names[m.role] ?? m.role}>
      <header>
        <strong>{names[m.role] ?? m.role}</strong>
        {m.tool_call_id && <span class="muted">to {m.tool_call_id}{m.tool_error ? ', failed' : ''}</span>}
        {call > 0 && <span class="muted">model call {call}</span>}
        {again && <Button kind="quiet" class="again" title="A branch: makes this model call again in another run. What was done in the workspace since stays." act={again}>↻ retry from here</Button>}
      </header>
      {m.content && (folded ? <Code text={m.content} label={names[m.role] ?? m.role} lines={6} /> : <Markdown text={m.content} />)}
      {(m.tool_calls ?? []).map((c) => (
        <div key={c.id} class="message-call">
          <p><strong>{c.function.name}</strong> <span class="muted">{c.id}</span></p>
          <Arguments tool={c.function.name} args={parsed(c.function.arguments)} />
        </div>
      ))}
    </article>
  );
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
        <Button kind="primary" act={go} disabled={!prompt.trim()} hint="Ctrl ↵">Continue</Button>
      </div>
    </form>
  );
}
