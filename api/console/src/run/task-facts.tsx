// What a task says: as much of it as was filled in.
import type { Task } from '../api/types.gen';
import { Facts, Time } from '../ui/basics';
import { Code } from '../ui/code';
import { duration, money, word } from '../ui/format';

export function TaskFacts({ task: t }: { task: Task }) {
  return (
    <>
      {t.prompt && <p class="prompt">{t.prompt}</p>}
      {t.shell_command && <Code text={t.shell_command} language="bash" label="Command" />}
      {t.git_command && <Code text={'git ' + t.git_command} language="bash" label="Command" />}
      {t.file_path && <Code text={t.file_content ?? ''} label={t.file_path} lines={12} />}
      <Facts
        of={[
          ['Kind', word(t.execution_kind)],
          ['Directory', t.working_directory ? <code>{t.working_directory}</code> : 'none (empty workspace)'],
          ['Workspace', t.workspace_mode === 'in_place' ? 'the directory itself' : 'a copy'],
          ['File', t.file_path && <code>{t.file_path}</code>],
          ['Work policy', t.agent_preset_id],
          ['Asks by', t.permission_posture === 'levels' ? 'the level of each tool' : ''],
          ['Model', t.requested_model && `${t.requested_provider ?? ''} ${t.requested_model}`.trim()],
          ['Ceiling', t.budget_micros_usd ? money(t.budget_micros_usd) : ''],
          ['Command time', t.timeout_ms ? duration(t.timeout_ms) : ''],
          ['Network', t.sandbox_network ? 'allowed' : ''],
          ['Writes', t.sandbox_read_only ? 'only proposed' : ''],
          ['Created', <Time at={t.created_at} />],
        ]}
      />
    </>
  );
}
