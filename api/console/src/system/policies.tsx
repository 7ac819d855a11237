// Work policies: what an agent may do under a name. The built-in ones are part of the program.
import { useState } from 'preact/hooks';
import { ask, get } from '../api/client';
import type { Preset, PresetChange, PresetRequest } from '../api/types.gen';
import { useLoad } from '../state/load';
import { attempt, say } from '../state/notices';
import { Button, Dialog, Facts, Loading, Problem } from '../ui/basics';
import { Field, Pick, Switch } from '../ui/field';
import { word } from '../ui/format';

export function Policies() {
  const { data, failed, reload } = useLoad(() => get<Preset[]>('/agent-presets'), 'policies');
  const [editing, setEditing] = useState<Preset | 'new'>();
  const [ending, setEnding] = useState<Preset>();
  if (!data) return failed ? <Problem>{failed}</Problem> : <Loading what="work policies" />;
  return (
    <>
      {failed && <Problem>{failed}</Problem>}
      <div class="bar">
        <p class="muted">A task keeps what its policy said when it was created: changes here count for the next ones.</p>
        <Button act={() => setEditing('new')}>New policy …</Button>
      </div>
      <div class="cards">{data.map((p) => <Policy key={p.id} of={p} edit={() => setEditing(p)} end={() => setEnding(p)} />)}</div>
      {editing && <Edit of={editing === 'new' ? undefined : editing} close={() => setEditing(undefined)} done={reload} />}
      {ending && <End of={ending} close={() => setEnding(undefined)} done={reload} />}
    </>
  );
}

function Policy({ of: p, edit, end }: { of: Preset; edit: () => void; end: () => void }) {
  return (
    <section class="card" data-item tabIndex={-1} aria-label={p.name}>
      <h2 class="card-title">{p.name} {p.built_in && <span class="chip">built in</span>}</h2>
      {p.description && <p class="muted">{p.description}</p>}
      <Facts
        of={[
          ['Id', <code>{p.id}</code>], ['Tools', p.tools_enabled ? 'offered' : 'none'], ['Writes', p.writes_allowed ? 'allowed' : 'only proposed'], ['Network', p.network_allowed ? 'allowed' : 'not allowed'],
          ['Browser', p.browser_allowed && `${p.browser_interactions_allowed ? 'looks and acts' : 'looks'} at ${(p.browser_allowed_origins ?? []).join(', ') || 'nothing'}`],
          ['Asks', asks[p.approval_policy]], ['For', word(p.surface)], ['Provider', p.provider_hint], ['Model', p.model_hint],
          ['Instructions', p.instructions && <details><summary>Show</summary><p class="prompt">{p.instructions}</p></details>],
        ]}
      />
      {!p.built_in && (
        <div class="actions">
          <Button kind="quiet" act={end} aria-label={`Delete ${p.name}`}>Delete …</Button>
          <Button act={edit} aria-label={`Change ${p.name}`}>Change …</Button>
        </div>
      )}
    </section>
  );
}

const asks: Record<Preset['approval_policy'], string> = {
  inherit: 'as the server says', require: 'before every call', block: 'never: what would ask is denied', allow: 'as the server says',
};

/** Draft is the part of a policy that can be edited here. */
type Draft = Required<globalThis.Pick<Preset, 'id' | 'name' | 'description' | 'instructions' | 'tools_enabled' | 'writes_allowed' | 'network_allowed' | 'approval_policy'>>;

function draftOf(p: Preset | undefined): Draft {
  return {
    id: p?.id ?? '', name: p?.name ?? '', description: p?.description ?? '', instructions: p?.instructions ?? '', tools_enabled: p?.tools_enabled ?? true,
    writes_allowed: p?.writes_allowed ?? false, network_allowed: p?.network_allowed ?? false, approval_policy: p?.approval_policy ?? 'require',
  };
}

function Edit({ of: p, close, done }: { of: Preset | undefined; close: () => void; done: () => Promise<void> }) {
  const [first] = useState(() => draftOf(p));
  const [d, setDraft] = useState(first);
  const set = (change: Partial<Draft>) => setDraft({ ...d, ...change });
  const save = () =>
    attempt(async () => {
      const { id, ...rest } = d;
      if (p) await ask<Preset>('PATCH', `/agent-presets/${p.id}`, changes(rest, first));
      else await ask<Preset>('POST', '/agent-presets', { ...rest, ...(id.trim() && { id: id.trim() }) } satisfies PresetRequest);
      say(`${d.name} is saved.`);
      close();
      await done();
    });
  return (
    <Dialog title={p ? `Change ${p.name}` : 'New work policy'} close={close}>
      <Field label="Name" name="policy_name" value={d.name} set={(name) => set({ name })} error={d === first || d.name.trim() ? undefined : 'It needs a name.'} />
      {!p && <Field label="Id" name="policy_id" mono value={d.id} set={(id) => set({ id })} hint="Chosen by the server if empty." />}
      <Field label="What it is for" name="policy_description" value={d.description} set={(description) => set({ description })} />
      <Field label="Instructions for the model" name="policy_instructions" lines={4} value={d.instructions} set={(instructions) => set({ instructions })} />
      <Switch label="Offer tools" on={d.tools_enabled} set={(tools_enabled) => set({ tools_enabled })} />
      <Switch label="Allow writes; without, changes can only be proposed" on={d.writes_allowed} set={(writes_allowed) => set({ writes_allowed })} />
      <Switch label="Allow the network" on={d.network_allowed} set={(network_allowed) => set({ network_allowed })} />
      <Pick
        label="Which calls ask" name="policy_asks" value={d.approval_policy} set={(v) => set({ approval_policy: v as Draft['approval_policy'] })}
        options={[['require', 'Every call'], ['inherit', 'What the server says'], ['block', 'None: what would ask is denied']]}
      />
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="primary" disabled={!d.name.trim()} act={save}>Save</Button>
      </div>
    </Dialog>
  );
}

/** changes are the members that differ: the others stay as they are. */
function changes(now: Omit<Draft, 'id'>, before: Draft): PresetChange {
  return Object.fromEntries(Object.entries(now).filter(([k, v]) => before[k as keyof Draft] !== v));
}

function End({ of: p, close, done }: { of: Preset; close: () => void; done: () => Promise<void> }) {
  const go = () =>
    attempt(async () => {
      await ask('DELETE', `/agent-presets/${p.id}`);
      say(`${p.name} is deleted.`);
      close();
      await done();
    });
  return (
    <Dialog title={`Delete ${p.name}`} close={close}>
      <p>Tasks that were made from it keep what it said.</p>
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="danger" act={go}>Delete</Button>
      </div>
    </Dialog>
  );
}
