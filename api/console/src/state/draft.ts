// A task that is being written: what is wrong with it, and the request that it becomes.
import type { CreateTaskRequest } from '../api/types.gen';

export interface Draft {
  execution_kind: 'agent_loop' | 'shell' | 'git' | 'file';
  title: string;
  prompt: string;
  shell_command: string;
  git_command: string;
  file_path: string;
  file_content: string;
  working_directory: string;
  workspace_mode: string;
  requested_provider: string;
  requested_model: string;
  budget_micros_usd: string; // in US dollars, as it is typed
  agent_preset_id: string;
  permission_posture: string;
  system_prompt: string;
  timeout_ms: string; // in seconds, as it is typed
  sandbox_network: boolean;
  sandbox_read_only: boolean;
  start: boolean;
}

export const empty: Draft = {
  execution_kind: 'agent_loop', title: '', prompt: '', shell_command: '', git_command: '', file_path: '', file_content: '',
  working_directory: '', workspace_mode: 'ephemeral', requested_provider: '', requested_model: '', budget_micros_usd: '', agent_preset_id: '',
  permission_posture: '', system_prompt: '', timeout_ms: '', sandbox_network: false, sandbox_read_only: false, start: true,
};

export type Errors = Partial<Record<keyof CreateTaskRequest, string>>;

/** check returns what can be known to be wrong without the server. */
export function check(d: Draft): Errors {
  const out: Errors = {};
  const need = (name: 'prompt' | 'shell_command' | 'git_command' | 'file_path', what: string) => {
    if (!d[name].trim()) out[name] = what;
  };
  if (d.execution_kind === 'agent_loop') need('prompt', 'Say what is wanted.');
  if (d.execution_kind === 'shell') need('shell_command', 'Write the command.');
  if (d.execution_kind === 'git') need('git_command', 'Write the arguments after git.');
  if (d.execution_kind === 'file') need('file_path', 'Name the file.');
  const dir = d.working_directory.trim();
  if (d.workspace_mode === 'in_place' && !dir) out.working_directory = 'Name the directory to work in.';
  else if (d.workspace_mode === 'in_place' && !dir.startsWith('/')) out.working_directory = 'Must be an absolute path, such as /home/ada/project.';
  if (d.execution_kind === 'agent_loop') checkModel(d, out);
  if (d.timeout_ms.trim() && !/^\d{1,6}([.,]\d{1,3})?$/.test(d.timeout_ms.trim())) out.timeout_ms = 'Must be a number of seconds, such as 90.';
  return out;
}

function checkModel(d: Draft, out: Errors): void {
  if (d.requested_provider && !d.requested_model.trim()) out.requested_model = 'A provider needs a model.';
  const usd = dollars(d.budget_micros_usd);
  if (d.budget_micros_usd.trim() && !(usd >= 0 && usd < 1e9)) out.budget_micros_usd = 'Must be an amount, such as 0.50.';
}

function dollars(typed: string): number {
  return Number(typed.trim().replace(',', '.').replace('$', ''));
}

/** agentSeconds is what a command of an agent may take if nobody says more: time for a build and its tests. */
export const agentSeconds = 300;

const ofKind: Record<Draft['execution_kind'], (keyof Draft & keyof CreateTaskRequest)[]> = {
  agent_loop: ['prompt', 'system_prompt', 'requested_provider', 'requested_model', 'agent_preset_id', 'permission_posture'],
  shell: ['shell_command'],
  git: ['git_command'],
  file: ['file_path', 'file_content'],
};

/** request is the draft as the API takes it, without what is empty or belongs to another kind. */
export function request(d: Draft): CreateTaskRequest {
  const out: Record<string, unknown> = { execution_kind: d.execution_kind };
  for (const name of ['title', 'working_directory', 'workspace_mode', ...ofKind[d.execution_kind]] as const) {
    const value = name === 'file_content' || name === 'prompt' ? (d[name] as string) : String(d[name]).trim();
    if (value) out[name] = value;
  }
  const seconds = d.timeout_ms.trim() || (d.execution_kind === 'agent_loop' ? String(agentSeconds) : '');
  if (seconds) out.timeout_ms = Math.round(Number(seconds.replace(',', '.')) * 1000);
  if (d.execution_kind === 'agent_loop' && d.budget_micros_usd.trim()) {
    out.budget_micros_usd = Math.round(dollars(d.budget_micros_usd) * 1e6);
  }
  if (d.sandbox_network) out.sandbox_network = true;
  if (d.sandbox_read_only) out.sandbox_read_only = true;
  return out as CreateTaskRequest;
}

/** fieldOf is the field that a message of the server is about: the one of the request that it names first. */
export function fieldOf(message: string, sent: CreateTaskRequest): keyof CreateTaskRequest | undefined {
  const named = (message.match(/[a-z]+(_[a-z]+)*/g) ?? []).find((w) => w in sent || w in empty);
  if (named) return named as keyof CreateTaskRequest;
  if (/preset|work policy/.test(message)) return 'agent_preset_id';
  return undefined;
}
