// What is allowed and forbidden: entries of permission files, and what was given for sessions. All of it can be taken back.
import { useState } from 'preact/hooks';
import { get, post } from '../api/client';
import type { PermissionEntry, PermissionInSession, Permissions, Session, Task } from '../api/types.gen';
import { useLoad } from '../state/load';
import { attempt, say } from '../state/notices';
import { runPath } from '../state/router';
import { Button, Dialog, Loading, Problem } from '../ui/basics';
import { Pick } from '../ui/field';
import { nameOf, short } from '../ui/format';

interface InSession extends PermissionInSession {
  task: Task;
}

// What was given for a session is asked for task by task: no more than the newest of a directory.
const tasksMax = 20;

export function Grants() {
  const newest = useLoad(() => get<Task[]>('/tasks?limit=200'), '');
  const dirs = [...new Set((newest.data ?? []).map((t) => t.working_directory ?? '').filter((d) => d.startsWith('/')))].sort();
  const [chosen, setDir] = useState<string>();
  const dir = chosen ?? dirs[0] ?? '';
  const known = newest.data;
  const { data, failed, reload } = useLoad(() => (known ? load(dir, known) : Promise.resolve(undefined)), `${!!known} ${dir}`);
  const [revoking, setRevoking] = useState<{ what: string; go: () => Promise<unknown> }>();
  if (!known) return newest.failed ? <Problem>{newest.failed}</Problem> : <Loading what="tasks" />;
  const revoke = (what: string, path: string, body: object) => setRevoking({
    what, go: async () => {
      await post<Permissions>(path, body);
      say('It is revoked.');
      await reload();
    },
  });
  return (
    <>
      <div class="grants-of">
        <Pick label="Directory" name="dir" value={dir} set={setDir} options={[...dirs.map((d): [string, string] => [d, d]), ['', 'None: your own file only']]} hint="Those of the newest tasks." />
      </div>
      {failed && <Problem>{failed}</Problem>}
      {!data && !failed && <Loading what="what is allowed" />}
      {data && (
        <>
          <Problems of={data.permissions} />
          <File of={data.permissions} local={data.local} dir={dir} reload={reload} revoke={(e) => revoke(e.text, '/permissions/revoke', { id: e.id, ...(dir && { dir }) })} />
          <Sessions of={data.sessions} revoke={(g) => revoke(g.scope, `/tasks/${g.task.id}/permissions/revoke`, { grant_id: g.id })} />
        </>
      )}
      {revoking && <Revoke {...revoking} close={() => setRevoking(undefined)} />}
    </>
  );
}

async function load(dir: string, tasks: Task[]) {
  const q = dir ? `?dir=${encodeURIComponent(dir)}` : '';
  const of = tasks.filter((t) => t.latest_run_id && (!dir || t.working_directory === dir)).slice(0, tasksMax);
  const [permissions, session, ...each] = await Promise.all([
    get<Permissions>('/permissions' + q), get<Session>('/whoami'),
    ...of.map((task) => get<Permissions>(`/permissions?task_id=${task.id}`).then((p) => p.session.map((g): InSession => ({ ...g, task })), () => [])), // one that was just deleted has none
  ]);
  return { permissions, local: session.runtime_host.local_only_actions_available, sessions: each.flat() };
}

function Problems({ of: p }: { of: Permissions }) {
  return (
    <>
      {p.problems.map((x, i) => (
        <p key={i} class={x.refused ? 'error-text' : 'warn'}>{x.at && <code>{x.at}</code>} {x.message}{x.refused && ' Not in force.'}</p>
      ))}
    </>
  );
}

interface FileProps {
  of: Permissions;
  local: boolean;
  dir: string;
  reload: () => Promise<void>;
  revoke: (e: PermissionEntry) => void;
}

function File({ of: p, local, dir, reload, revoke }: FileProps) {
  const accept = () =>
    attempt(async () => {
      await post<Permissions>('/permissions/accept', { dir, digest: p.project_digest });
      say('The project’s grants are in force.');
      await reload();
    });
  return (
    <section class="card table-card">
      <h2>Files</h2>
      <p class="muted">
        {p.user_file && <>Yours: <code>{p.user_file}</code>. </>}
        {p.project_file && <>The project’s: <code>{p.project_file}</code>{!p.project_exists && ', which does not exist'}. </>}
        {!local && 'Files are edited from the server’s own machine only.'}
      </p>
      {p.entries.length + p.shut_out.length === 0 && <p class="muted">They say nothing about calls.</p>}
      <Entries of={p.entries} label="In force" {...(local && { revoke })} />
      {p.waiting.length > 0 && (
        <>
          <div class="bar">
            <p class="warn">The project’s grants count once somebody has accepted the file as it is.</p>
            {local && p.project_digest && <Button act={accept}>Accept these</Button>}
          </div>
          <Entries of={p.waiting} label="Not accepted yet" {...(local && { revoke })} />
        </>
      )}
      <Entries of={p.shut_out} label="Not in force: their file cannot be read as a whole" />
      {p.locks.length > 0 && <p class="muted">Calls take turns by {p.locks.map((l) => `${l.name} (${l.patterns.join(', ')})`).join('; ')}.</p>}
    </section>
  );
}

const lists: Record<PermissionEntry['list'], [string, string]> = {
  'permissions.deny': ['forbidden', 'bad'], 'permissions.approve': ['asks', 'wait'], 'permissions.promoted': ['allowed', 'good'],
  'network.deny': ['host forbidden', 'bad'], 'network.allow': ['host allowed', 'good'], 'network.promoted': ['host allowed', 'good'],
};

function Entries({ of, label, revoke }: { of: PermissionEntry[]; label: string; revoke?: (e: PermissionEntry) => void }) {
  if (of.length === 0) return null;
  return (
    <ul class="entries" aria-label={label}>
      {of.map((e) => (
        <li key={e.layer + e.id} class="entry" data-item tabIndex={-1}>
          <span class={`status ${lists[e.list]?.[1] ?? ''}`}>{lists[e.list]?.[0] ?? e.list}</span>
          <span class="entry-what">
            <code>{e.text}</code>
            {e.covers && <span>{e.covers}</span>}
            {e.reason && <span class="muted">{e.reason}</span>}
            <span class="muted">{e.layer === 'user' ? 'yours' : 'the project’s'}, <code>{e.at}</code></span>
          </span>
          {revoke && <Button kind="quiet" aria-label={`Revoke ${e.text}`} act={() => revoke(e)}>Revoke …</Button>}
        </li>
      ))}
    </ul>
  );
}

function Sessions({ of, revoke }: { of: InSession[]; revoke: (g: InSession) => void }) {
  return (
    <section class="card table-card">
      <h2>Given for sessions</h2>
      <p class="muted">Holds in a run and in those that go on from it. Looked for in the newest {tasksMax} tasks of the directory.</p>
      {of.length === 0 && <p>Nothing was given for a session.</p>}
      <ul class="entries" aria-label="Given for sessions">
        {of.map((g) => (
          <li key={g.id} class="entry" data-item tabIndex={-1}>
            <span class="status good">{g.host ? 'host allowed' : 'allowed'}</span>
            <span class="entry-what"><code>{g.scope}</code> <span class="muted"><a href={runPath(g.task.id, g.run_id)}>{nameOf(g.task)}</a>, {short(g.run_id)}</span></span>
            <Button kind="quiet" aria-label={`Revoke ${g.scope}`} act={() => revoke(g)}>Revoke …</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Revoke({ what, go, close }: { what: string; go: () => Promise<unknown>; close: () => void }) {
  return (
    <Dialog title="Revoke" close={close}>
      <p><code>{what}</code></p>
      <p class="muted">Runs under way see it with their next call.</p>
      <div class="actions">
        <Button kind="quiet" act={close}>Back</Button>
        <Button kind="danger" act={() => attempt(go).then((well) => well && close())}>Revoke</Button>
      </div>
    </Dialog>
  );
}
