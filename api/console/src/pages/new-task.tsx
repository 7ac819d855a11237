// A new task. What can be checked while one writes is; the rest the server says, at the field that it means.
import { useEffect, useState } from 'preact/hooks';
import { get, inOneSentence, post, Refused } from '../api/client';
import type { CreateTaskRequest, Preset, ProviderStatus, Run, Task } from '../api/types.gen';
import { say } from '../state/notices';
import { navigate, runPath, taskPath } from '../state/router';
import { Problem } from '../ui/basics';
import { Field, Pick, Switch } from '../ui/field';
import { useTitle } from '../ui/title';
import { agentSeconds, check, empty, fieldOf, request, type Draft, type Errors } from '../state/draft';

const kinds = [
  ['agent_loop', 'Agent', 'A model works on it with tools.'],
  ['shell', 'Shell', 'One command.'],
  ['git', 'Git', 'One git command.'],
  ['file', 'File', 'Write one file.'],
] as const;

export function NewTask() {
  useTitle('New task');
  const [d, setDraft] = useState<Draft>(empty);
  const [touched, setTouched] = useState<Record<string, boolean>>({});
  const [refused, setRefused] = useState<Errors>({});
  const [failed, setFailed] = useState('');
  const [busy, setBusy] = useState(false);
  const { providers, presets } = useChoices();

  const wrong = check(d);
  const error = (name: keyof CreateTaskRequest) => (touched[name] ? wrong[name] : undefined) ?? refused[name];
  const set = (change: Partial<Draft>) => {
    setDraft({ ...d, ...change });
    setTouched({ ...touched, ...Object.fromEntries(Object.keys(change).map((k) => [k, true])) });
    setRefused(Object.fromEntries(Object.entries(refused).filter(([k]) => !(k in change))));
    setFailed('');
  };
  const text: Text = (name) => ({ name, value: String(d[name]), error: error(name), set: (value) => set({ [name]: value }) });

  const submit = async () => {
    if (busy) return;
    setTouched(Object.fromEntries(Object.keys(d).map((k) => [k, true])));
    if (Object.keys(wrong).length > 0) return focusFirst(Object.keys(wrong)[0]!);
    setBusy(true);
    try {
      await create(d);
    } catch (e) {
      const at = e instanceof Refused ? fieldOf(e.message, request(d)) : undefined;
      if (at) {
        setRefused({ [at]: inOneSentence(e) });
        focusFirst(at);
      } else setFailed(inOneSentence(e));
      setBusy(false);
    }
  };

  const agent = d.execution_kind === 'agent_loop';
  return (
    <div class="page narrow">
      <nav class="crumbs" aria-label="Where you are"><a href="/tasks">Tasks</a></nav>
      <h1>New task</h1>
      <form
        class="form"
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
        onKeyDown={(e) => {
          const inText = (e.target as Element).matches('textarea'); // elsewhere Enter submits by itself
          if (inText && e.key === 'Enter' && (e.ctrlKey || e.metaKey)) void submit();
        }}
      >
        <Kinds d={d} set={set} />
        <Wanted d={d} text={text} />
        <div class="pair">
          <Field {...text('working_directory')} label="Working directory" mono hint={d.working_directory.trim() ? 'On the server’s machine.' : 'If empty, the run starts in an empty workspace.'} />
          <Pick
            label="Workspace" name="workspace_mode" value={d.workspace_mode} set={(workspace_mode) => set({ workspace_mode })} error={error('workspace_mode')}
            options={[['ephemeral', 'A copy of the directory'], ['persistent', 'A copy that stays'], ['in_place', 'Run directly in this workspace']]}
          />
        </div>
        {d.workspace_mode === 'in_place' && <p class="warn">Changes are made to your own files, at once.</p>}

        {agent && <ModelFields d={d} set={set} error={error} providers={providers} presets={presets} />}

        <More d={d} set={set} text={text} error={error} />

        {failed && <Problem>{failed}</Problem>}
        <div class="actions sticky">
          <Switch label="Start at once" on={d.start} set={(start) => set({ start })} />
          <button type="submit" class="button primary" aria-busy={busy} disabled={busy}>{d.start ? 'Create and start' : 'Create'}</button>
        </div>
      </form>
    </div>
  );
}

type Set = (change: Partial<Draft>) => void;
type Text = (name: keyof Draft & keyof CreateTaskRequest) => { name: string; value: string; error: string | undefined; set: (value: string) => void };

function Kinds({ d, set }: { d: Draft; set: Set }) {
  return (
    <fieldset class="kinds">
      <legend>Kind</legend>
      {kinds.map(([value, name, what]) => (
        <label key={value} class="kind">
          <input type="radio" name="kind" checked={d.execution_kind === value} onChange={() => set({ execution_kind: value })} />
          <span><strong>{name}</strong> <small>{what}</small></span>
        </label>
      ))}
    </fieldset>
  );
}

/** Wanted is the fields that a kind of task needs. */
function Wanted({ d, text }: { d: Draft; text: Text }) {
  const agent = d.execution_kind === 'agent_loop';
  return (
    <>
      {agent && <Field {...text('prompt')} label="What is wanted" lines={5} autofocus hint="The agent gets this as its task." />}
      {d.execution_kind === 'shell' && <Field {...text('shell_command')} label="Command" mono hint="Run as sh -lc." />}
      {d.execution_kind === 'git' && <Field {...text('git_command')} label="Git command" mono hint="The arguments after git, such as: status --short" />}
      {d.execution_kind === 'file' && (
        <>
          <Field {...text('file_path')} label="File" mono hint="Relative to the workspace." />
          <Field {...text('file_content')} label="Content" mono lines={6} />
        </>
      )}
      <Field {...text('title')} label="Title" hint={agent ? 'The beginning of what is wanted if empty.' : 'Optional.'} />
    </>
  );
}

function More({ d, set, text, error }: { d: Draft; set: Set; text: Text; error: Parts['error'] }) {
  const agent = d.execution_kind === 'agent_loop';
  return (
    <details class="more-fields">
      <summary>More</summary>
      <div class="pair">
        <Field {...text('timeout_ms')} label="Time limit of a command, in seconds" numeric hint={`${agent ? agentSeconds : 5} if empty.`} />
        {agent && (
          <Pick
            label="Which calls ask" name="permission_posture" value={d.permission_posture} set={(permission_posture) => set({ permission_posture })} error={error('permission_posture')}
            options={[['', 'What the server’s policies say'], ['levels', 'By the level of each tool']]}
          />
        )}
      </div>
      {agent && <Field {...text('system_prompt')} label="Instructions" lines={3} hint="Added to what every model call begins with." />}
      <Switch label="Commands may use the network" on={d.sandbox_network} set={(sandbox_network) => set({ sandbox_network })} />
      <Switch label="Changes can only be proposed" on={d.sandbox_read_only} set={(sandbox_read_only) => set({ sandbox_read_only })} />
    </details>
  );
}

interface Choices {
  providers: ProviderStatus[];
  presets: Preset[];
}

type Parts = Choices & { d: Draft; set: Set; error: (name: keyof CreateTaskRequest) => string | undefined };

function ModelFields({ d, set, error, providers, presets }: Parts) {
  const models = providers.find((p) => p.name === d.requested_provider)?.models ?? [];
  const provider = (requested_provider: string) => {
    const p = providers.find((q) => q.name === requested_provider);
    set({ requested_provider, requested_model: p?.default_model ?? p?.models?.[0] ?? '' });
  };
  return (
    <>
      <div class="pair">
        <Pick
          label="Provider" name="requested_provider" value={d.requested_provider} set={provider} error={error('requested_provider')}
          options={[['', 'Chosen by the server'], ...providers.map((p): [string, string] => [p.name, p.routing_ready ? p.name : `${p.name} (not ready)`])]}
        />
        <Field
          label="Model" name="requested_model" mono value={d.requested_model} set={(requested_model) => set({ requested_model })} error={error('requested_model')}
          suggest={models} hint={d.requested_provider ? 'Needed with a provider.' : 'Chosen by the server if empty.'}
        />
      </div>
      <div class="pair">
        <Field
          label="Ceiling in US dollars" name="budget_micros_usd" numeric value={d.budget_micros_usd} set={(budget_micros_usd) => set({ budget_micros_usd })} error={error('budget_micros_usd')}
          hint="Holds for a run and those that go on from it. None if empty."
        />
        <Pick
          label="Work policy" name="agent_preset_id" value={d.agent_preset_id} set={(agent_preset_id) => set({ agent_preset_id })} error={error('agent_preset_id')}
          options={[['', 'None'], ...presets.map((p): [string, string] => [p.id, p.name])]}
        />
      </div>
    </>
  );
}

function useChoices(): Choices {
  const [choices, setChoices] = useState<Choices>({ providers: [], presets: [] });
  useEffect(() => {
    // Without them the fields can still be filled in by hand.
    const none = () => [];
    void Promise.all([get<ProviderStatus[]>('/providers/status').catch(none), get<Preset[]>('/agent-presets').catch(none)]).then(([providers, all]) =>
      setChoices({ providers, presets: (all as Preset[]).filter((p) => p.surface === 'hecate_task' || p.surface === 'any') }),
    );
  }, []);
  return choices;
}

async function create(d: Draft): Promise<void> {
  const task = await post<Task>('/tasks', request(d));
  if (!d.start) return navigate(taskPath(task.id));
  try {
    const run = await post<Run>(`/tasks/${task.id}/start`);
    navigate(runPath(task.id, run.id));
  } catch (e) {
    navigate(taskPath(task.id)); // it exists, and its page has a button that starts it
    say(inOneSentence(e), true);
  }
}

function focusFirst(name: string): void {
  requestAnimationFrame(() => {
    const field = document.querySelector<HTMLElement>(`[name="${name}"]`);
    field?.closest('details')?.setAttribute('open', '');
    field?.focus();
  });
}
