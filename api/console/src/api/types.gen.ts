// Code generated from the API document; DO NOT EDIT.

export interface AcceptPermissionsRequest {
  /** project_digest of what was looked at. */
  digest: string;
  /** Absolute path of the project, or of a directory in it. */
  dir: string;
}

export interface Activity {
  approval_id?: string;
  artifact_id?: string;
  id: string;
  kind?: string;
  needs_action?: boolean;
  occurred_at?: string;
  path?: string;
  status?: string;
  step_id?: string;
  summary?: Record<string, unknown>;
  terminal?: boolean;
  title?: string;
  tool_name?: string;
  type: string;
}

export interface Actor {
  /** operator, client, worker, schedule or system. Accept kinds that you don't know. */
  kind: string;
  /** Which one: an operator's name, runtime-token for whoever has that, a node's id; of a client what it said. */
  name?: string;
  /** The organisation, where the server knows of several. */
  org?: string;
  /** true: a token proved it, for the name runtime-token the one that all clients share. false: nothing did. Absent for what the server does by itself. */
  verified?: boolean;
}

export interface Approval {
  /** What would be done, one line per call, with details withheld where they are not harmless. */
  action_summary?: string[];
  /** Something was withheld or cut: look at the calls themselves before saying yes. */
  action_summary_incomplete?: boolean;
  /** The calls of the answer that asks, in order, also those that need no yes. */
  calls?: ApprovalCall[];
  /** When it was asked for. */
  created_at?: string;
  /** Names exactly what is asked for. Send it with the answer, and what was changed meanwhile is not approved. */
  digest?: string;
  /** Identifies it; opaque. */
  id: string;
  /** shell_command, git_exec, file_write, network_egress or agent_loop_tool_call. */
  kind: string;
  /** Where the calls work. */
  place?: ApprovalPlace;
  /** Why a person is asked. */
  reason?: string;
  /** The permission file that an answer in the scope project is written to. */
  remember_in?: string;
  /** The request that caused it, as in the server's log. */
  request_id?: string;
  /** Who asked, for an approval before execution. */
  requested_by?: string;
  /** What the person noted. */
  resolution_note?: string;
  /** When it was answered. */
  resolved_at?: string;
  /** operator, or system if the run was cancelled. */
  resolved_by?: string;
  /** Who answered, if a name was given. */
  resolved_by_name?: string;
  /** Whether a token proved who answered; if not, the name is only what the client said. */
  resolved_by_verified?: boolean;
  /** The run that it belongs to. */
  run_id: string;
  /** Its span, 16 hexadecimal digits. */
  span_id?: string;
  /** pending, approved, rejected or cancelled. */
  status: string;
  /** The step that it belongs to. */
  step_id?: string;
  /** The task that it belongs to. */
  task_id: string;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  trace_id?: string;
}

export interface ApprovalAnswer {
  /** The answer itself. */
  data: Approval;
  /** Names the kind of the answer. */
  object: string;
}

export interface ApprovalCall {
  /** What was answered. */
  answer?: "approved" | "denied";
  /** The possible answers: y once, a for the session, A for the project, e changes the offer first, n no, N no with a reason. */
  answers?: string[];
  /** The permission file that it changes. */
  config_file?: string;
  /** Of a yes: the call whose scope session or project is all that lets this one run. */
  covered_by?: string;
  /** What was decided about it: ask for the calls that need a yes, deny for those that will be refused whatever is answered. */
  decision: "allow" | "allow_visibly" | "ask" | "deny";
  /** All that asks about it. A yes opens these and no others. */
  gates?: string[];
  /** 0 silent, 1 visible, 2 asks: the tool's own level. */
  level: number;
  /** Execution locks that it takes once it is allowed. */
  locks?: string[];
  /** What to look at beside the call. */
  notes?: string[];
  /** What can be remembered so that a call like this does not ask again; absent if nothing can. */
  offer?: ApprovalOffer;
  /** Why it asks. */
  reason?: string;
  /** Of a yes: for how long. */
  scope?: "once" | "session" | "project";
  /** As the model named it. */
  tool_call_id: string;
  /** The tool. */
  tool_name: string;
}

export interface ApprovalList {
  /** The answer itself. */
  data: Approval[];
  /** Names the kind of the answer. */
  object: string;
}

export interface ApprovalOffer {
  /** What the scope covers, in words. */
  covers: string;
  /** Whether the scope is a host. */
  host: boolean;
  /** The list of the file that it is written to. */
  list: string;
  /** A pattern, or a host. */
  scope: string;
}

export interface ApprovalPlace {
  /** A copy of a directory with its git history, of any other directory, a clone of a repository, an empty directory, or the operator's own. */
  kind: "worktree" | "copy" | "clone" | "empty" | "in_place";
  /** The file that it is about, as an absolute path. */
  path?: string;
  /** The branch or commit that was checked out when it was asked. */
  ref?: string;
  /** What it mirrors. */
  source?: string;
}

export interface Artifact {
  /** The content. */
  content_text?: string;
  /** When it came into being. */
  created_at?: string;
  /** What it is, for people. */
  description?: string;
  /** Identifies it; opaque. */
  id: string;
  /** stdout, stderr, file, patch, git_summary, agent_conversation, summary … */
  kind: string;
  /** Media type of the content. */
  mime_type?: string;
  /** Its name. */
  name?: string;
  /** Where the content is, if it is not inline. */
  object_ref?: string;
  /** The file that it is about, as an absolute path. */
  path?: string;
  /** The request that caused it, as in the server's log. */
  request_id?: string;
  /** The run that it belongs to. */
  run_id: string;
  /** Digest of the content in hexadecimal digits; absent while it grows. */
  sha256?: string;
  /** Size of the content in bytes. */
  size_bytes?: number;
  /** Its span, 16 hexadecimal digits. */
  span_id?: string;
  /** streaming, ready or cancelled; for a patch proposed, applied or reverted. */
  status?: string;
  /** The step that it belongs to. */
  step_id?: string;
  /** inline: the content is in content_text. */
  storage_kind?: string;
  /** The task that it belongs to. */
  task_id: string;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  trace_id?: string;
}

export interface ArtifactAnswer {
  /** The answer itself. */
  data: Artifact;
  /** Names the kind of the answer. */
  object: string;
}

export interface ArtifactList {
  /** The answer itself. */
  data: Artifact[];
  /** Names the kind of the answer. */
  object: string;
}

export interface AuditPage {
  /** The events, in the order that was asked for. */
  data: Event[];
  /** The after_sequence of the next page, oldest first; absent at the end. */
  next_after_sequence?: number;
  /** The before_sequence of the next page, newest first; absent at the end. */
  next_before_sequence?: number;
  /** Names the kind of the answer. */
  object: "audit_events";
}

export interface Call {
  /** The model call of this run that asked for it. */
  model_call_index?: number;
  /** What an operator found out about a call whose outcome was unknown. */
  operator_outcome?: "done" | "not_done";
  /** How it ended, once that is known. */
  outcome?: "completed" | "failed" | "blocked" | "refused" | "cancelled" | "unknown";
  /** The model call of that run. */
  source_model_call_index?: number;
  /** Of an inherited call: the earlier run whose model asked for it. */
  source_run_id?: string;
  /** How far it has come; unknown means that its effect may have happened. */
  state: "not_started" | "running" | "finished" | "unknown";
  /** The step that shows it; absent before it starts. */
  step_id?: string;
  /** The earlier run in which that step stands, of a call that had ended before this run began. */
  step_run_id?: string;
  /** As the model named it; of a direct run the id of its step. */
  tool_call_id: string;
  /** The tool; of a direct run shell, git or file. */
  tool_name: string;
}

export interface CallAnswer {
  /** Of a yes: the call of this answer whose scope session or project is all that lets this one run. If it does not cover the call, the call is asked about again. */
  covered_by?: string;
  /** approve or deny; case does not matter. */
  decision: string;
  /** Of a refusal: what the model is told. At most 4096 bytes. */
  note?: string;
  /** Of a yes for more than once: the pattern or host, if it is not the one that was offered. At most 4096 bytes. */
  pattern?: string;
  /** Of a yes: once; session for the runs that go on from each other; project for those and the project's permission file. More than once only if the approval has an offer for the call. */
  scope?: "once" | "session" | "project";
  /** The call, as the approval names it. */
  tool_call_id: string;
}

export interface CallList {
  /** The answer itself. */
  data: Call[];
  /** Names the kind of the answer. */
  object: string;
}

export interface CancelRunRequest {
  /** Shown as the run's last error; cut to 4096 bytes. */
  reason?: string;
}

export interface Capabilities {
  /** Whether model providers on this machine can be used. */
  local_providers_allowed: boolean;
}

export interface CheckpointState {
  /** Signed note in the form of C2SP tlog-checkpoint. Kept elsewhere, it proves later that none of those events was altered. */
  checkpoint?: string;
  /** With since: hashes, in hex, that prove that the tree of that size is the beginning of this one (RFC 6962). */
  consistency?: string[];
  /** Sequence of its newest event. */
  head: number;
  /** The public key that it is signed under. */
  key?: string;
  /** All keys of the log, in the order in which they sign; more than one if the key was changed. */
  keys?: LogKey[];
  /** The log. */
  log_id: string;
  /** Events up to this sequence are under the checkpoint; 0 if nothing is sealed. */
  sealed: number;
}

export interface CheckpointStateAnswer {
  /** The answer itself. */
  data: CheckpointState;
  /** Names the kind of the answer. */
  object: string;
}

export interface ContinueRunRequest {
  /** Answers to the run's questions before there are any. They are not inherited. */
  permissions?: RunPermissions;
  /** What is wanted next. At most 1 MiB. */
  prompt: string;
}

export interface CreateTaskRequest {
  /** The work policy that it is made from; only for execution_kind agent_loop. The task keeps what the policy says now. */
  agent_preset_id?: string;
  /** A branch, tag or commit that is checked out in the copy; uncommitted work then stays behind. */
  base_branch?: string;
  /** Ceiling for the cost of a run and the ones that it goes on from, in millionths of a US dollar; 0 for none. */
  budget_micros_usd?: number;
  /** How it is done; an execution_profile may give it. */
  execution_kind?: "agent_loop" | "shell" | "git" | "file";
  /** Fills what is left empty: repo_local for an agent loop in a persistent workspace, coding_agent for the same with more time and a coding prompt. */
  execution_profile?: string;
  /** For execution_kind file. */
  file_content?: string;
  /** For execution_kind file; write if empty. */
  file_operation?: "write" | "append";
  /** For execution_kind file; relative to the workspace. */
  file_path?: string;
  /** For execution_kind git: the arguments after git. */
  git_command?: string;
  /** Reserved; must be empty. */
  mcp_servers?: unknown[];
  /** What decides which tool calls ask: the server's policies (runtime, also if empty), or the level of each tool (levels, only for execution_kind agent_loop; a server may forbid it). */
  permission_posture?: "runtime" | "levels";
  /** Kept as it is; normal if empty. */
  priority?: string;
  /** The project that it belongs to. */
  project_id?: string;
  /** What is wanted. Needed for execution_kind agent_loop. */
  prompt?: string;
  /** What is copied instead: a path, or the address of a repository that is cloned. */
  repo?: string;
  /** The model to use. Empty: the router chooses. */
  requested_model?: string;
  /** Needs requested_model, too. Both empty: the router chooses. */
  requested_provider?: string;
  /** Nothing outside of it is touched. */
  sandbox_allowed_root?: string;
  /** Commands may use the network. */
  sandbox_network?: boolean;
  /** Tools that change something are refused; changes can only be proposed. */
  sandbox_read_only?: boolean;
  /** For execution_kind shell; run as sh -lc. */
  shell_command?: string;
  /** Added to the instructions that every model call begins with. */
  system_prompt?: string;
  /** Time limit of one command, in milliseconds; 5000 if 0. */
  timeout_ms?: number;
  /** The first 80 bytes of the prompt if empty. */
  title?: string;
  /** Reserved; must be empty. */
  workflow_mode?: string;
  /** What is copied, or the workspace itself for in_place; then it must be absolute. */
  working_directory?: string;
  /** ephemeral and persistent work on a copy, in_place works in working_directory itself. ephemeral if empty. */
  workspace_mode?: "ephemeral" | "persistent" | "in_place";
  /** Whether the workspace's CLAUDE.md or AGENTS.md is part of the system prompt: exclude leaves it out. */
  workspace_system_prompt_policy?: "exclude";
}

export interface EraseRequest {
  /** What to tell those who find it missing. It stands in the log for good. */
  reason: string;
  /** The run, instead of a task. */
  run_id?: string;
  /** Single events, instead: at most 1000. */
  sequences?: number[];
  /** The task: all that it, its runs and the operations on their workspaces say, and what callers have added. */
  task_id?: string;
}

export interface Erased {
  /** How many large contents are gone. */
  contents: number;
  /** Sequences of the log.erased events that name it all; none if nothing was left to erase. */
  erasures: number[];
  /** How many events have lost their content. */
  records: number;
}

export interface ErasedAnswer {
  /** The answer itself. */
  data: Erased;
  /** Names the kind of the answer. */
  object: string;
}

export interface Error {
  /** What went wrong. */
  error: ErrorDetail;
}

export interface ErrorDetail {
  /** What happened, in one sentence. */
  message: string;
  /** What an operator can do about it. */
  operator_action?: string;
  /** The request, as it stands in the server's log. */
  request_id?: string;
  /** Stable name of the error, such as invalid_request, not_found or conflict. */
  type: string;
  /** The same for somebody who does not operate the server. */
  user_message?: string;
}

export interface Event {
  /** Who caused it. */
  actor?: Actor;
  /** Sequence of the newest event that it was decided on; absent if it follows from none. */
  caused_by?: number;
  /** The command that it belongs to, if the client had named its request; all events of one command have the same. */
  command_id?: string;
  /** What is known about it, depending on the type. Accept members that you don't know. */
  data: Record<string, unknown>;
  /** Sequence of the log.erased event that says by which rule and whom its content was erased; absent if it was not. */
  erased_by?: number;
  /** Identifies the event; stays the same whenever it is read. */
  event_id: string;
  /** SHA-256 over the record as it stands in the log, in hexadecimal digits. */
  hash?: string;
  /** When it was recorded. */
  occurred_at: string;
  /** The run that the event is about. */
  run_id: string;
  /** Version of this envelope. */
  schema_version: "1";
  /** The names of secrets of the server that stood in it, and were recorded nowhere: [secret NAME] stands in their place. */
  secrets_withheld?: string[];
  /** Place in the order of all events of the server; strictly increasing, with gaps. It is the cursor of lists and streams. */
  sequence: number;
  /** Reserved for chat sessions. */
  session_id?: string;
  /** The task of the run. */
  task_id?: string;
  /** The trace of the request that caused it, 32 hexadecimal digits. */
  trace_id?: string;
  /** What happened, such as run.started. Accept types that you don't know. */
  type: string;
}

export interface EventAnswer {
  /** The answer itself. */
  data: Event;
  /** Names the kind of the answer. */
  object: string;
}

export interface EventCauses {
  /** What it was decided on, what that was decided on, and so on: the nearest first. */
  causes: Event[];
  /** The chain goes on: ask for the causes of its last event. */
  causes_cut?: boolean;
  /** Events that were decided on this one, oldest first. */
  effects: Event[];
  /** The event itself. */
  event: Event;
  /** The after_sequence of the next effects; absent at the end. */
  next_after_sequence?: number;
}

export interface EventCausesAnswer {
  /** The answer itself. */
  data: EventCauses;
  /** Names the kind of the answer. */
  object: string;
}

export interface EventList {
  /** The answer itself. */
  data: Event[];
  /** Names the kind of the answer. */
  object: string;
}

export interface EventPage {
  /** The events, oldest first. */
  data: Event[];
  /** The after_sequence of the next page; absent on an empty page, which is the end. */
  next_after_sequence?: number;
  /** Names the kind of the answer. */
  object: "events";
}

export interface EventProof {
  /** The signed checkpoint with that root. */
  checkpoint: string;
  /** Its hash, in hex: SHA-256 over all that it says. */
  hash: string;
  /** The public key that it is signed under. */
  key: string;
  /** Index of its leaf, which is made of the hash: the sequence less one. */
  leaf_index: number;
  /** Hashes, in hex, that lead from the leaf to the root (RFC 6962, nearest first). */
  path: string[];
  /** Sequence of the event. */
  sequence: number;
  /** Leaves of the tree. */
  size: number;
}

export interface EventProofAnswer {
  /** The answer itself. */
  data: EventProof;
  /** Names the kind of the answer. */
  object: string;
}

export interface FileChange {
  /** What kind of thing it is. */
  kind: string;
  /** The file that it is about, as an absolute path. */
  path: string;
}

export interface Frame {
  /** Only in pictures of the live state. */
  activity?: Activity[];
  /** Only in pictures of the live state. */
  approvals?: Approval[];
  /** Only in pictures of the live state. */
  artifacts?: Artifact[];
  /** Type of the event that caused the frame; snapshot for a picture of the live state. */
  event_type: string;
  /** Only for model.call.completed. */
  model_call?: ModelCall;
  run: Run;
  /** The event's sequence; for a picture of the live state that of the newest event. */
  sequence: number;
  /** Only in pictures of the live state. */
  steps?: Step[];
  /** The run has ended. */
  terminal?: boolean;
}

export interface Health {
  /** How runs are confined. */
  sandbox: Sandbox;
  /** Always ok: a server that is not does not answer. */
  status: "ok";
  /** The server's time, in seconds. */
  time: string;
  /** Version of the server. */
  version: string;
}

export interface LandedFile {
  /** Of a file that makes programs run, or says what agents may do: permissions, hooks, ci, mcp, editor, packages, shell or leads-out. */
  class?: string;
  /** What becomes of it: merged, if it was changed there meanwhile; already, if it is there as it is to be. */
  outcome: "written" | "merged" | "deleted" | "already" | "conflicted" | "withheld";
  /** Below the directory; quoted as in Go if it is no UTF-8. */
  path: string;
  /** Of a conflict, to be read after the path. */
  reason?: string;
}

export interface LiveWorker {
  /** Runs that it has. */
  claims: number;
  /** Its process; another one after each start. */
  instance: string;
  /** Id of the server's installation, see whoami. */
  node: string;
}

export interface LogKey {
  /** The public key. */
  key: string;
  /** Sequence of the event that names it; none for the first key. */
  named_by?: number;
  /** What was said about that. */
  reason?: string;
  /** It took the place of a key that was lost, which does not vouch for it. */
  replaced?: boolean;
  /** Size of the first checkpoint that it has signed; 0 if it has signed none yet. */
  since: number;
}

export interface MCPServer {
  /** auto, require_approval or block. */
  approval_policy?: string;
  /** The program's arguments. */
  args?: string[];
  /** The program of a server that speaks over its standard streams. */
  command?: string;
  /** The program's environment; values that are no $NAME reference are redacted. */
  env?: Record<string, string>;
  /** Headers sent to it; values that are no $NAME reference are redacted. */
  headers?: Record<string, string>;
  /** Name of the server, unique in the task. */
  name: string;
  /** The address of a server that speaks HTTP. */
  url?: string;
}

export interface Message {
  content: string;
  content_blocks?: unknown[];
  role: string;
  tool_call_id?: string;
  tool_calls?: MessageToolCall[];
  tool_error?: boolean;
}

export interface MessageFunction {
  arguments: string;
  name: string;
}

export interface MessageToolCall {
  function: MessageFunction;
  id: string;
  type: string;
}

export interface ModelCall {
  cost_micros_usd: number;
  model_call_index: number;
  run_cumulative_cost_micros_usd: number;
  step_id?: string;
  task_cumulative_cost_micros_usd: number;
  tool_calls?: number;
}

export interface OperationFailed {
  /** What happened, in one sentence. */
  message: string;
  /** Stable name of the error, such as conflict. */
  type: string;
}

export interface OperationItem {
  /** The patch that it is about. */
  artifact_id?: string;
  /** When it came into being. */
  created_at: string;
  /** Why it was not done. */
  error?: OperationFailed;
  /** Identifies it; opaque. */
  id: string;
  /** patch_apply, patch_revert, take or restore. */
  kind: string;
  /** It only says what would be done. */
  preview?: boolean;
  /** Of take and restore that are done: what became, or would become, of each file. */
  result?: OperationResult;
  /** The run that it belongs to. */
  run_id: string;
  /** requested; running; done; refused: nothing was changed, and error says why; unknown: its worker vanished in the midst. */
  status: "requested" | "running" | "done" | "refused" | "unknown";
  /** The task that it belongs to. */
  task_id: string;
}

export interface OperationItemAnswer {
  /** The answer itself. */
  data: OperationItem;
  /** Names the kind of the answer. */
  object: string;
}

export interface OperationResult {
  /** The snapshot that they lead to. */
  after?: string;
  /** The snapshot that the changes count from. */
  before?: string;
  /** The new branch. */
  branch?: string;
  /** The commit on the branch; of a preview the one that it would stand on. */
  commit?: string;
  /** Files that conflict. */
  conflicts: number;
  /** Of a preview: what changes, as a unified diff. */
  diff?: string;
  /** The diff goes on; it is longer than 4 MiB. */
  diff_cut?: boolean;
  /** Of all that matters for what is done. */
  digest: string;
  /** At most 500. */
  files: LandedFile[];
  /** All of them. */
  files_count: number;
  /** Of take: files of the workspace that no snapshot holds, such as very large ones, with the reason; at most 100. Ignored files stay behind, too. */
  left_behind?: string[];
  /** Of restore: ignored files and what else no snapshot holds, which stay as they are; at most 500. Commits stay as well. */
  not_undone?: string[];
  /** All of these. */
  not_undone_count?: number;
  /** The directory. */
  target: string;
  /** Files that make programs run, or say what agents may do, and stay as they are unless they are asked for (sensitive). */
  withheld: number;
}

export interface OsIsolation {
  /** What confines the commands that runs start. */
  kind: "bwrap" | "sandbox-exec" | "none";
  /** The program that does it. */
  path?: string;
}

export interface PastRun {
  /** Its approvals, newest first. */
  approvals: Approval[];
  /** The newest event of its task that counts. */
  as_of_sequence: number;
  /** The run. */
  run: Run;
  /** Its steps, by index. */
  steps: Step[];
}

export interface PastRunAnswer {
  /** The answer itself. */
  data: PastRun;
  /** Names the kind of the answer. */
  object: string;
}

export interface PastTask {
  /** Its approvals, newest first. */
  approvals: Approval[];
  /** The newest event of the task that counts. */
  as_of_sequence: number;
  /** Its runs, newest first. */
  runs: Run[];
  /** The task. */
  task: Task;
}

export interface PastTaskAnswer {
  /** The answer itself. */
  data: PastTask;
  /** Names the kind of the answer. */
  object: string;
}

export interface Patch {
  /** The artifact that the patch is. */
  artifact: Artifact;
  /** Whether the file was there before. */
  before_existed: boolean;
  /** The change as a unified diff, the whole file in one piece. */
  diff: string;
  /** The file that it is about, as an absolute path. */
  path?: string;
  /** proposed, applied or reverted. */
  status: string;
}

export interface PatchAnswer {
  /** The answer itself. */
  data: Patch;
  /** Names the kind of the answer. */
  object: string;
}

export interface PatchList {
  /** The answer itself. */
  data: Patch[];
  /** Names the kind of the answer. */
  object: string;
}

export interface PermissionEntry {
  /** File and line. */
  at: string;
  /** Of a grant: what it covers, in words. */
  covers?: string;
  /** The same for the same list, file and text. */
  id: string;
  /** Whose file. */
  layer: "user" | "project";
  /** The list that it stands in. */
  list: "permissions.deny" | "permissions.approve" | "permissions.promoted" | "network.deny" | "network.allow" | "network.promoted";
  /** Beside the entry. Of what is forbidden the model is told it, of a grant nobody. */
  reason?: string;
  /** A pattern, or a host, in its normal form. */
  text: string;
}

export interface PermissionGuard {
  /** Whether it watches; absent if no file says so, and then it watches in the levels posture. */
  enabled?: boolean;
  /** The limits that hold, in attempts. */
  limits: RepetitionLimits;
}

export interface PermissionInSession {
  /** Whether the scope is a host. */
  host: boolean;
  /** Identifies it, to revoke it. */
  id: string;
  /** The run that has it. */
  run_id: string;
  /** A pattern, or a host. */
  scope: string;
}

export interface PermissionLock {
  /** File and line. */
  at: string;
  /** Whose file. */
  layer: "user" | "project";
  /** Its name. */
  name: string;
  /** The calls that take it. */
  patterns: string[];
}

export interface PermissionProblem {
  /** File and line. */
  at?: string;
  /** Whose file. */
  layer: string;
  /** The list or table that it is about. */
  list: string;
  /** What is wrong, and what to do about it. */
  message: string;
  /** Whether the entry is not in force; if it is, this is a warning. */
  refused: boolean;
}

export interface Permissions {
  /** What is in force, the user's entries first. */
  entries: PermissionEntry[];
  /** Names that calls take turns by. */
  locks: PermissionLock[];
  /** What is wrong with the files, and what to do about it. */
  problems: PermissionProblem[];
  /** Whether its grants are in force. What it forbids is in any case. */
  project_accepted: boolean;
  /** Names its bytes, to accept them; absent if it cannot be accepted as it is. */
  project_digest?: string;
  /** Whether the project's file is there. */
  project_exists: boolean;
  /** The file of the project, whether it exists or not; absent if there is no project. */
  project_file?: string;
  /** The limits of the repetition guard. */
  repetition: PermissionGuard;
  /** What was given for the session of the task's latest run, and not revoked. */
  session: PermissionInSession[];
  /** Grants of files that cannot be read as a whole, as far as they can be; they are not in force and count once the files are mended. */
  shut_out: PermissionEntry[];
  /** The user's own file, whether it exists or not; absent if there is no place for one. */
  user_file?: string;
  /** Grants of the project's file that count once it is accepted. */
  waiting: PermissionEntry[];
}

export interface PermissionsAnswer {
  /** The answer itself. */
  data: Permissions;
  /** Names the kind of the answer. */
  object: string;
}

export interface PostEventRequest {
  /** The event's data. Numbers come back as they were written; the members run, steps, artifacts and snapshot are dropped. */
  data?: Record<string, unknown>;
  /** Becomes the member note of the event's data. */
  note?: string;
  /** Becomes the member status of the event's data. */
  status?: string;
  /** Becomes the member step_id of the event's data. */
  step_id?: string;
  /** external.event if empty. The runtime's own namespaces (run, task, model, tool, approval …) are refused. */
  type?: string;
}

export interface Preset {
  /** require asks before every tool call, block denies what would ask; inherit and allow change nothing. */
  approval_policy: "inherit" | "require" | "block" | "allow";
  /** Pages of the origins may be looked at. */
  browser_allowed: boolean;
  /** Exact origins, such as https://docs.example. */
  browser_allowed_origins?: string[];
  /** Pages of the origins may be acted on. */
  browser_interactions_allowed: boolean;
  /** true: part of the program; it cannot be changed or deleted. */
  built_in: boolean;
  /** How much of a project's context sources goes into the prompt. */
  context_source_policy: "inherit" | "include_enabled" | "visible_only" | "exclude";
  /** When it came into being. */
  created_at?: string;
  /** What it is, for people. */
  description?: string;
  /** The profile, unless the task names one. */
  execution_profile?: string;
  /** The external agent that it is for. */
  external_agent_kind?: string;
  /** Options of the external agent. */
  external_agent_options?: Record<string, string>;
  /** Identifies it; opaque. */
  id: string;
  /** For the model, ahead of the task's own system_prompt. */
  instructions?: string;
  /** The model, unless the task names one or another provider. */
  model_hint?: string;
  /** Its name. */
  name: string;
  /** false: nothing that uses the network may run. */
  network_allowed: boolean;
  /** How much of a project's memory goes into the prompt. */
  project_memory_policy: "inherit" | "include" | "visible_only" | "exclude";
  /** The provider, unless the task names one. */
  provider_hint?: string;
  /** Skills that go with it. */
  skill_ids?: string[];
  /** Where it can be chosen. */
  surface: "hecate_chat" | "hecate_task" | "external_agent" | "any";
  /** false: no tool is offered, and none may run. */
  tools_enabled: boolean;
  /** When it last changed. */
  updated_at?: string;
  /** false: changes can only be proposed. */
  writes_allowed: boolean;
}

export interface PresetAnswer {
  /** The answer itself. */
  data: Preset;
  /** Names the kind of the answer. */
  object: string;
}

export interface PresetChange {
  /** require asks before every tool call, block denies what would ask; inherit, which is meant if it is empty, and allow change nothing. */
  approval_policy?: "inherit" | "require" | "block" | "allow";
  /** Pages of the origins may be looked at. Needs tools_enabled, surface any or hecate_task, and an origin. */
  browser_allowed?: boolean;
  /** Exact origins, such as https://docs.example; dropped without a grant. */
  browser_allowed_origins?: string[];
  /** Pages of the origins may be acted on. Needs the same; neither grant implies the other. */
  browser_interactions_allowed?: boolean;
  /** How much of a project's context sources goes into the prompt; inherit if empty. */
  context_source_policy?: "inherit" | "include_enabled" | "visible_only" | "exclude";
  /** What it is for, for people. */
  description?: string;
  /** The profile, unless the task names one. */
  execution_profile?: string;
  /** The external agent that it is for. */
  external_agent_kind?: string;
  /** Options of the external agent. */
  external_agent_options?: Record<string, string>;
  /** For the model, ahead of the task's own system_prompt. */
  instructions?: string;
  /** The model, unless the task names one or another provider. */
  model_hint?: string;
  /** Its name; needed. */
  name?: string;
  /** false: nothing that uses the network may run. */
  network_allowed?: boolean;
  /** How much of a project's memory goes into the prompt; inherit if empty. */
  project_memory_policy?: "inherit" | "include" | "visible_only" | "exclude";
  /** The provider, unless the task names one. */
  provider_hint?: string;
  /** Skills that go with it. */
  skill_ids?: string[];
  /** Where it can be chosen; any if empty. */
  surface?: "hecate_chat" | "hecate_task" | "external_agent" | "any";
  /** false: no tool is offered, and none may run. */
  tools_enabled?: boolean;
  /** false: changes can only be proposed. */
  writes_allowed?: boolean;
}

export interface PresetList {
  /** The answer itself. */
  data: Preset[];
  /** Names the kind of the answer. */
  object: string;
}

export interface PresetRequest {
  /** Letters, digits, -, _ and .; made if empty. */
  id?: string;
}

export interface Projection {
  /** Position of the newest event of the log. */
  head: number;
  /** Events after position. */
  lag: number;
  /** Name of the read model. */
  name: string;
  /** Streams with an event that the model could not take; they stand still, all others go on. */
  parked: number;
  /** Everything in the log up to here is visible. */
  position: number;
  /** Whether it is being made anew from the log. The present one is read until then. */
  rebuilding: boolean;
  /** How far the new one is. */
  rebuilt_to?: number;
  /** Of a target outside: why nothing is sent at the moment, or why the last message was given up. */
  trouble?: string;
}

export interface ProjectionList {
  /** The answer itself. */
  data: Projection[];
  /** Names the kind of the answer. */
  object: string;
}

export interface ProviderCheck {
  /** Why, in words. */
  message: string;
  /** The part. */
  name: "credentials" | "models" | "health" | "routing";
  /** What an operator can do about it. */
  operator_action?: string;
  /** Why, as a word for machines. */
  reason: string;
  /** blocked: not as it is. */
  status: "ok" | "warning" | "blocked" | "unknown";
}

export interface ProviderEvent {
  /** Which attempt at this provider it was. */
  attempt_count?: number;
  /** Whether it may be asked after that. */
  available: boolean;
  /** Failures since its last answer. */
  consecutive_failures?: number;
  /** What went wrong. */
  error?: string;
  /** The same as a word for machines. */
  error_class?: string;
  /** What happened. A plain success of a healthy provider is no event. */
  event: "success" | "slow_success" | "failure" | "cooldown_opened" | "cooldown_recovered" | "failover_triggered" | "failover_selected";
  /** The same as status. */
  health_status?: string;
  /** How long the call took, in milliseconds. */
  latency_ms?: number;
  /** The model that was asked for. */
  model?: string;
  /** Until when it is left alone. */
  open_until?: string;
  /** The other one's health. */
  peer_health_status?: string;
  /** The model there. */
  peer_model?: string;
  /** The other provider, where a call went from one to another. */
  peer_provider?: string;
  /** Why that one was asked. */
  peer_route_reason?: string;
  /** The provider. */
  provider: string;
  /** cloud or local. */
  provider_kind?: string;
  /** Those that were rate limits. */
  rate_limits?: number;
  /** Why a call went to another provider. */
  reason?: string;
  /** The request that led to the call. */
  request_id?: string;
  /** Why this provider was asked. */
  route_reason?: string;
  /** Those that were errors of the provider. */
  server_errors?: number;
  /** Its health after that. */
  status: "healthy" | "degraded" | "open" | "half_open" | "unknown";
  /** Those that were timeouts. */
  timeouts?: number;
  /** When it happened. */
  timestamp?: string;
  /** Failures since the server started. */
  total_failures?: number;
  /** Answers since the server started. */
  total_successes?: number;
  /** The trace of the call. */
  trace_id?: string;
}

export interface ProviderEventList {
  /** The answer itself. */
  data: ProviderEvent[];
  /** Names the kind of the answer. */
  object: string;
}

export interface ProviderPreset {
  /** The environment variable for its key. */
  api_key_env?: string;
  /** Version of the protocol. */
  api_version?: string;
  /** Where it is. */
  base_url: string;
  /** The model that is used if none is named. */
  default_model?: string;
  /** What it is. */
  description?: string;
  /** Its documentation. */
  docs_url?: string;
  /** The environment variables that set it up. */
  env_snippet?: string;
  /** The name under which it is configured. */
  id: string;
  /** local ones run on one's own machine and need no key. */
  kind: "cloud" | "local";
  /** What it calls itself. */
  name: string;
  /** How it is spoken to. */
  protocol: "openai" | "anthropic";
}

export interface ProviderPresetList {
  /** The answer itself. */
  data: ProviderPreset[];
  /** Names the kind of the answer. */
  object: string;
}

export interface ProviderReadiness {
  /** Why, in words. */
  message: string;
  /** What an operator can do about it. */
  operator_action?: string;
  /** Why, as a word for machines. */
  reason: string;
  /** blocked: not as it is. */
  status: "ok" | "warning" | "blocked" | "unknown";
}

export interface ProviderStatus {
  /** Whether a task that names nothing can be routed to it. */
  auto_route_ready: boolean;
  /** Where it is. */
  base_url?: string;
  /** Failures since its last answer. */
  consecutive_failures?: number;
  /** Whether it can be asked as far as the key goes. */
  credential_ready: boolean;
  /** Whether there is a key. */
  credential_state?: "configured" | "missing" | "not_required";
  /** The model that is used if none is named. */
  default_model?: string;
  /** Where they are known from: config or upstream_v1_models. */
  discovery_source?: string;
  /** Whether its last calls went well. */
  healthy: boolean;
  /** local ones run on one's own machine. */
  kind: "cloud" | "local";
  /** When it was last asked for anything. */
  last_checked_at?: string;
  /** What went wrong last. */
  last_error?: string;
  /** The same as a word for machines: timeout, rate_limited, server_error, network, auth_failed … */
  last_error_class?: string;
  /** How long its last answer took, in milliseconds. */
  last_latency_ms?: number;
  /** How many those are. */
  model_count: number;
  /** The models that it is known to have. */
  models?: string[];
  /** The provider. */
  name: string;
  /** Until when it is left alone. */
  open_until?: string;
  /** Those that were rate limits. */
  rate_limits?: number;
  /** Whether it can be used, all in all. */
  readiness: ProviderReadiness;
  /** The parts of that. */
  readiness_checks: ProviderCheck[];
  /** When it was last asked for its models. */
  refreshed_at?: string;
  /** Why not, as a word for machines: credential_missing, circuit_open, provider_rate_limited, no_models … */
  routing_blocked_reason?: string;
  /** Whether a task that names it and a model can be routed to it. */
  routing_ready: boolean;
  /** Those that were errors of the provider. */
  server_errors?: number;
  /** Its health. An open one is left alone until open_until; a half_open one is tried with one call. */
  status: "healthy" | "degraded" | "open" | "half_open" | "unknown";
  /** Those that were timeouts. */
  timeouts?: number;
  /** Failures since the server started. */
  total_failures?: number;
  /** Answers since the server started. */
  total_successes?: number;
}

export interface ProviderStatusList {
  /** The answer itself. */
  data: ProviderStatus[];
  /** Names the kind of the answer. */
  object: string;
}

export interface RebuildProjectionsRequest {
  /** The read model; all of them if absent. */
  name?: string;
}

export interface RepetitionLimits {
  /** Unchanged commands before a soft check. */
  commands: number;
  /** Attempts of one call in the window, whatever came of them, before a soft check. */
  dominant: number;
  /** Completed exchanges that a checker sees. */
  exchanges: number;
  /** Other attempts after which an earlier one of the call no longer counts. */
  gap: number;
  /** Attempts in a row without new evidence before a person must look. */
  hard: number;
  /** The same for polls. */
  hard_polls: number;
  /** The longest cycle, in attempts. */
  period: number;
  /** Unchanged polls of a running job before a soft check. */
  polls: number;
  /** Unchanged reads before a soft check. */
  reads: number;
  /** Completed attempts that are remembered. */
  window: number;
}

export interface ResolveApprovalRequest {
  /** Answers to single calls, where they differ from the whole. Of an approval the calls that are not listed are approved once, of a rejection with continue they are refused. */
  calls?: CallAnswer[];
  /** Of a rejection: the calls are refused, the model is told so, and the run goes on. Without it a rejection ends the run. */
  continue?: boolean;
  /** approve (or approved), reject (or rejected, deny, denied); case does not matter. */
  decision: string;
  /** Digest of what was shown, from the approval.requested event. If it is no longer what the approval is for, nothing is approved. */
  digest?: string;
  /** Kept with the answer. At most 4096 bytes. */
  note?: string;
}

export interface RestoreInputBody {
  /** The step, tool call or operation before which the workspace is to be again. */
  before: string;
  /** The preview's digest. Required to restore. */
  digest?: string;
  /** Put back also what was changed since by others than the run and its operations. */
  force?: boolean;
  /** Say what would be done, and do nothing. */
  preview?: boolean;
}

export interface RestorePoint {
  /** There is a snapshot of that moment, and something to put back. */
  available: boolean;
  /** What the call or operation changed; at most 100. */
  changed: FileChange[];
  /** All files that it changed. */
  changed_count: number;
  /** When it came into being. */
  created_at: string;
  /** The step or operation before which the workspace is then. */
  id: string;
  /** The model call that asked for it. */
  model_call_index?: number;
  /** The operation; absent for a call. */
  operation_id?: string;
  /** The step of the call; absent for an operation. */
  step_id?: string;
  /** The call's id, as the model gave it. */
  tool_call_id?: string;
  /** The tool of the call. */
  tool_name?: string;
}

export interface RestorePointList {
  /** The answer itself. */
  data: RestorePoint[];
  /** Names the kind of the answer. */
  object: string;
}

export interface ResumeRunRequest {
  /** Raises the task's ceiling for cost to this, in millionths of a US dollar. 0 leaves it as it is; less than it is is refused. */
  budget_micros_usd?: number;
  /** Answers to the run's questions before there are any. They are not inherited. */
  permissions?: RunPermissions;
  /** Kept with the run; followers see it. At most 4096 bytes. */
  reason?: string;
}

export interface RetentionRequest {
  /** Only these; all of them if there is none. The others are skipped, and a name that nobody knows chooses nothing. */
  subsystems?: string[];
}

export interface RetentionResult {
  /** Events whose content was erased. The events themselves stay, with their digests. */
  deleted: number;
  /** Why it ended early. The next pass goes on. */
  error?: string;
  /** The pass looked at as much as one does at most. The next one goes on. */
  incomplete?: boolean;
  /** What is older is pruned; absent if there is no limit to the age. */
  max_age?: string;
  /** So many stay, the newest ones; 0 if there is no limit to the number. */
  max_count: number;
  /** Name of the subsystem. */
  name: "trace_snapshots" | "usage_events" | "audit_events" | "provider_history" | "model_call_events" | "chat_approvals" | "run_contents";
  /** It was not chosen, it has no limits, or there is nothing of its own that could be pruned. */
  skipped?: boolean;
}

export interface RetentionRun {
  /** Of a manual one: operator: and the id of the request. Who that was, the event retention.finished says. */
  actor?: string;
  /** When it was over. */
  finished_at: string;
  /** Of a manual one: the request. */
  request_id?: string;
  /** What it did, for each subsystem. */
  results: RetentionResult[];
  /** When it began. */
  started_at: string;
  /** Who wanted it: a request, or the server after an interval. */
  trigger: "manual" | "scheduled";
}

export interface RetentionRunAnswer {
  /** The answer itself. */
  data: RetentionRun;
  /** Names the kind of the answer. */
  object: string;
}

export interface RetentionRunList {
  /** The answer itself. */
  data: RetentionRun[];
  /** Names the kind of the answer. */
  object: string;
}

export interface RetryRunFromModelCallRequest {
  /** The model call of the run that is made again; 1 is its first. */
  model_call_index: number;
  /** Answers to the run's questions before there are any. They are not inherited. */
  permissions?: RunPermissions;
  /** Kept with the run; followers see it. At most 4096 bytes. */
  reason?: string;
}

export interface RetryRunRequest {
  /** Answers to the run's questions before there are any. They are not inherited. */
  permissions?: RunPermissions;
  /** Kept with the run; cut to 4096 bytes. */
  reason?: string;
}

export interface RevokePermissionRequest {
  /** Absolute path of the project, or of a directory in it; needed for entries of its file. */
  dir?: string;
  /** Id of the entry. */
  id: string;
}

export interface RevokeSessionGrantRequest {
  /** Id of the grant, from session. */
  grant_id: string;
}

export interface Run {
  /** Its approvals. */
  approval_count?: number;
  /** Its artifacts. */
  artifact_count?: number;
  /** The assignment that it belongs to. */
  assignment_id?: string;
  /** The task's cost ceiling that holds for this run and those before it that it goes on from. */
  budget_micros_usd?: number;
  /** false if the cost of some call is not in the total. */
  cost_known: boolean;
  /** When it ended. */
  finished_at?: string;
  /** Identifies it; opaque. */
  id: string;
  /** What went wrong, in words. */
  last_error?: string;
  /** The model in use; until one was called, the one that was asked for. */
  model?: string;
  /** Model calls that were answered. */
  model_call_count: number;
  /** 1, 2, 3 … within the task. */
  number: number;
  /** What carries it out. */
  orchestrator?: string;
  /** ok or error, once it has ended. */
  otel_status_code?: string;
  /** Why it did not end well, as a word for machines or the last error. */
  otel_status_message?: string;
  /** What the runs cost that it goes on from, in millionths of a US dollar. */
  prior_cost_micros_usd?: number;
  /** The project that it belongs to. */
  project_id?: string;
  /** The provider in use; until one was called, the one that was asked for. */
  provider?: string;
  /** cloud or local. */
  provider_kind?: string;
  /** The request that caused it, as in the server's log. */
  request_id?: string;
  /** How it follows: retry and nothing is inherited, or resume, continue or branch. */
  resume_kind?: "retry" | "resume" | "continue" | "branch";
  /** The earlier run of the task that this one follows. */
  resumed_from_run_id?: string;
  /** The span of the request that started it, 16 hexadecimal digits. */
  root_span_id?: string;
  /** The schedule that started it. */
  schedule_id?: string;
  /** The occurrence of the schedule that started it. */
  schedule_occurrence_id?: string;
  /** When the schedule wanted it to start. */
  scheduled_for?: string;
  /** Of a branch: the model call of the earlier run that is made again. */
  source_model_call_index?: number;
  /** What asked for it. */
  source_ref?: SourceRef;
  /** When it was created. */
  started_at?: string;
  /** queued, running, awaiting_approval, completed, failed or cancelled. The last three are final. */
  status: string;
  /** Its steps. */
  step_count?: number;
  /** The task that it belongs to. */
  task_id: string;
  /** What it cost so far, as far as that is known, in millionths of a US dollar. */
  total_cost_micros_usd?: number;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  trace_id?: string;
  /** Why a queued run cannot be taken: workspace_unreachable until a worker starts that reaches its workspace. */
  waiting_reason?: "workspace_unreachable";
  /** What the operator should know though it does not stop the run. */
  warnings?: Warning[];
  /** The work item that it belongs to. */
  work_item_id?: string;
  /** The installation whose worker has the run. */
  worker_node?: string;
  /** The workflow that it follows. */
  workflow_mode?: string;
  /** Version of that workflow. */
  workflow_version?: string;
  /** The workspace that it works in. */
  workspace_id?: string;
  /** Where that is, as an absolute path. */
  workspace_path?: string;
  /** When it was removed to free space; no run can go on in it. */
  workspace_removed_at?: string;
}

export interface RunAnswer {
  /** The answer itself. */
  data: Run;
  /** Names the kind of the answer. */
  object: string;
}

export interface RunList {
  /** The answer itself. */
  data: Run[];
  /** Names the kind of the answer. */
  object: string;
}

export interface RunPermissions {
  /** Patterns of calls that need not ask. */
  allow_tools?: string[];
  /** Somebody watches the run who can answer at once: the model may ask for changes of permission files. */
  attended?: boolean;
  /** What becomes of a call that asks: park waits for a person, refuse tells the model that nobody can answer. park if empty. */
  on_ask?: "park" | "refuse";
  /** Absolute path, on the machine of the workspace, of the permission file that counts instead of the project's. */
  project_config?: string;
  /** What level 2 and the server's policies ask about is approved. */
  yes?: boolean;
  /** Hosts that nobody listed are, too, over https. */
  yes_really?: boolean;
}

export interface RuntimeHost {
  /** Stays the same for a data directory. */
  id: string;
  /** The machine's name, or one that the operator chose. */
  label: string;
  /** Whether this request could use what is only for the server's own machine, such as ending the server. */
  local_only_actions_available: boolean;
  /** As whom the caller is let in. */
  operator_access: "local_operator";
  /** The URL that clients should use. */
  public_url?: string;
  /** How the server runs. */
  runtime_mode: "local";
}

export interface RuntimeStats {
  /** Runs that wait for a person. */
  awaiting_approval_runs: number;
  /** When this was so. */
  checked_at: string;
  /** Runs that a live worker has, on any server. */
  in_flight_jobs: number;
  /** Runs that all servers together execute at a time; 0: as many as they have workers for. */
  max_concurrent_runs: number;
  /** How long the run that has been queued longest has been so. */
  oldest_queued_age_seconds: number;
  /** How long the run that has been running longest has been so. */
  oldest_running_age_seconds: number;
  /** Where the queue is: in the log. */
  queue_backend: "sqlite" | "postgres" | "memory";
  /** How many of them there can be; 0: as many as there are. */
  queue_capacity: number;
  /** Runs that no worker has, and that are to be executed. */
  queue_depth: number;
  /** Runs that wait for a worker. */
  queued_runs: number;
  /** Whether this server can shorten the output of commands with rtk. */
  rtk_available: boolean;
  /** Where rtk is. */
  rtk_path?: string;
  /** Runs that a worker executes. */
  running_runs: number;
  /** Where the log is. */
  store_backend: "sqlite" | "postgres" | "memory";
  /** Those of the queued runs whose workspace no live worker reaches. */
  waiting_workspace_runs: number;
  /** Runs that this server executes at a time. */
  worker_count: number;
  /** The servers whose workers are alive, by node. */
  workers: LiveWorker[];
}

export interface RuntimeStatsAnswer {
  /** The answer itself. */
  data: RuntimeStats;
  /** Names the kind of the answer. */
  object: string;
}

export interface Sandbox {
  /** The part of it that the operating system does. */
  os_isolation: OsIsolation;
}

export interface Session {
  /** As whom the log has what the caller does. */
  actor: SessionActor;
  /** What the server can do. */
  capabilities: Capabilities;
  /** What the caller may do. */
  role: "operator";
  /** The server. */
  runtime_host: RuntimeHost;
}

export interface SessionActor {
  /** An operator has proved who it is; anybody else is a client. */
  kind: "operator" | "client";
  /** Of an operator, that of the token. Of a client, what it said, if anything. */
  name?: string;
  /** Whether a token proved the name. Decisions may need that. */
  verified: boolean;
}

export interface SessionAnswer {
  /** The answer itself. */
  data: Session;
  /** Names the kind of the answer. */
  object: string;
}

export interface SettleStepRequest {
  /** What else the model should know; it is told with the outcome. At most 4096 bytes. */
  note?: string;
  /** done: the call took effect; not_done: it did not. */
  outcome: "done" | "not_done";
}

export interface ShutdownAnswer {
  /** Names the kind of the answer. */
  object: "system_shutdown";
}

export interface SourceRef {
  /** The chat. */
  chat_session_id: string;
  /** What asked, such as chat_turn. */
  kind: string;
  /** The message of the turn. */
  message_id: string;
  /** The turn of the chat. */
  turn_id: string;
}

export interface StartTaskRequest {
  /** Answers to the run's questions before there are any. */
  permissions?: RunPermissions;
}

export interface Step {
  /** The approval that it is about. */
  approval_id?: string;
  /** What went wrong, in words. */
  error?: string;
  /** What went wrong, as a word for machines. */
  error_kind?: string;
  /** Exit status of its command; absent if 0. */
  exit_code?: number;
  /** When it ended. */
  finished_at?: string;
  /** Identifies it; opaque. */
  id: string;
  /** 1, 2, 3 … within the run, without holes. */
  index: number;
  /** What it was asked to do, with sizes in place of contents. */
  input?: Record<string, unknown>;
  /** model, tool, approval, control, shell, git or file. */
  kind: string;
  /** How the tool call ended. Absent while it runs, and if the run ended before anybody knew. */
  outcome?: "completed" | "failed" | "blocked" | "refused" | "cancelled" | "unknown";
  /** What came of it, with sizes in place of contents. */
  output_summary?: Record<string, unknown>;
  /** The span above it. */
  parent_span_id?: string;
  /** The step above it. */
  parent_step_id?: string;
  /** planning, thinking, execution, approval, policy or recovery. */
  phase?: string;
  /** The request that caused it, as in the server's log. */
  request_id?: string;
  /** success, error or denied. */
  result?: string;
  /** The run that it belongs to. */
  run_id: string;
  /** Its span, 16 hexadecimal digits. */
  span_id?: string;
  /** When it began. */
  started_at?: string;
  /** running, completed, failed, cancelled or awaiting_approval. */
  status: string;
  /** The task that it belongs to. */
  task_id: string;
  /** One line for people. */
  title?: string;
  /** The tool that was used. */
  tool_name?: string;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  trace_id?: string;
}

export interface StepAnswer {
  /** The answer itself. */
  data: Step;
  /** Names the kind of the answer. */
  object: string;
}

export interface StepList {
  /** The answer itself. */
  data: Step[];
  /** Names the kind of the answer. */
  object: string;
}

export interface TakeInputBody {
  /** A new git branch for a commit on top of the source's last one, in place of a change of the files themselves. */
  branch?: string;
  /** The preview's digest. Required to take: what is done is what the preview showed. */
  digest?: string;
  /** Write texts that conflict with the usual markers in them, in place of writing nothing. */
  markers?: boolean;
  /** Files, and directories with all below them, at most 128 KiB of text in all; none: everything. */
  paths?: string[];
  /** Say what would be done, and do nothing. */
  preview?: boolean;
  /** Take files that make programs run, or say what agents may do, as well: hooks, build services, editors, permissions, MCP. */
  sensitive?: boolean;
}

export interface Task {
  /** What the preset said about questions: inherit, require, block or allow. */
  agent_preset_approval_policy?: string;
  /** Whether the preset allowed the browser. */
  agent_preset_browser_allowed?: boolean;
  /** The origins that the preset allowed the browser. */
  agent_preset_browser_allowed_origins?: string[];
  /** Whether the preset allowed to act on pages in the browser. */
  agent_preset_browser_interactions_allowed?: boolean;
  /** The preset that it was made from. */
  agent_preset_id?: string;
  /** Whether the preset allowed tools. */
  agent_preset_tools_enabled?: boolean;
  /** The assignment that it belongs to. */
  assignment_id?: string;
  /** The branch, tag or commit that is checked out in the copy. */
  base_branch?: string;
  /** The ceiling for cost as it stands now, in millionths of a US dollar. */
  budget_micros_usd?: number;
  /** When it came into being. */
  created_at?: string;
  /** How it is done: agent_loop, shell, git or file. */
  execution_kind?: string;
  /** The profile that filled what was left empty. */
  execution_profile?: string;
  /** What a file task writes. */
  file_content?: string;
  /** write or append, for a file task. */
  file_operation?: string;
  /** The file of a file task, relative to the workspace. */
  file_path?: string;
  /** When the latest run ended; absent while a run is open. */
  finished_at?: string;
  /** The arguments after git of a git task. */
  git_command?: string;
  /** Identifies it; opaque. */
  id: string;
  /** What went wrong in the last run that ended; a completed one clears it. */
  last_error?: string;
  /** The model of the latest run. */
  latest_model?: string;
  /** The provider of the latest run. */
  latest_provider?: string;
  /** The request that started the latest run, or created the task. */
  latest_request_id?: string;
  /** Artifacts of the latest run. */
  latest_run_artifact_count?: number;
  /** The run with the highest number. */
  latest_run_id?: string;
  /** Steps of the latest run. */
  latest_run_step_count?: number;
  /** The trace of the latest run. */
  latest_trace_id?: string;
  /** MCP servers whose tools the runs may use. */
  mcp_servers?: MCPServer[];
  /** Which one of those. */
  origin_id?: string;
  /** Where it came from, such as chat. */
  origin_kind?: string;
  /** Approvals of the latest run that wait for an answer. */
  pending_approval_count?: number;
  /** levels if what asks depends on the tool's level; absent if the server's policies say it. */
  permission_posture?: string;
  /** As it was given. */
  priority?: string;
  /** The project that it belongs to. */
  project_id?: string;
  /** What is wanted. */
  prompt: string;
  /** What is copied instead: a path, or the address of a repository. */
  repo?: string;
  /** The model that was asked for. */
  requested_model?: string;
  /** The provider that was asked for. */
  requested_provider?: string;
  /** The trace of the latest run. */
  root_trace_id?: string;
  /** Nothing outside of it is touched. */
  sandbox_allowed_root?: string;
  /** Commands may use the network. */
  sandbox_network?: boolean;
  /** Changes can only be proposed. */
  sandbox_read_only?: boolean;
  /** The command of a shell task. */
  shell_command?: string;
  /** When the first run began. */
  started_at?: string;
  /** not_started, then the status of the latest run: queued, running, awaiting_approval, completed, failed or cancelled. */
  status: string;
  /** Added to the instructions that every model call begins with. */
  system_prompt?: string;
  /** Time limit of one command, in milliseconds. */
  timeout_ms?: number;
  /** One line for people. */
  title: string;
  /** When it last changed. */
  updated_at?: string;
  /** The work item that it belongs to. */
  work_item_id?: string;
  /** The workflow that it follows. */
  workflow_mode?: string;
  /** Version of that workflow. */
  workflow_version?: string;
  /** What is copied, or the workspace itself. */
  working_directory?: string;
  /** ephemeral and persistent work on a copy, in_place in working_directory itself. */
  workspace_mode?: string;
  /** exclude if the workspace's own instructions are left out. */
  workspace_system_prompt_policy?: string;
}

export interface TaskAnswer {
  /** The answer itself. */
  data: Task;
  /** Names the kind of the answer. */
  object: string;
}

export interface TasksOutputBody {
  /** The tasks, newest first. */
  data: Task[];
  /** The before of the next page; absent at the end. */
  next_before?: number;
  /** Names the kind of the answer. */
  object: "tasks";
}

export interface Trace {
  /** From the start to the end; absent while the run is open. */
  duration_ms?: number;
  /** The request that opened the run; of a pass of retention: retention, the trigger and the time in nanoseconds since 1970, with colons between them. */
  request_id: string;
  /** Where its model calls went. */
  route: TraceRoute;
  /** The run; absent for a pass of retention. */
  run_id?: string;
  /** Spans so far, open ones included. */
  span_count: number;
  /** When the run was opened. */
  started_at?: string;
  /** How the run ended; unset while it is open. */
  status_code?: "ok" | "error" | "unset";
  /** Why, as a word: such as max_model_calls_exceeded. */
  status_message?: string;
  /** Its task. */
  task_id?: string;
  /** The trace that the run belongs to: the caller's if the request had a traceparent. */
  trace_id?: string;
}

export interface TraceCandidate {
  /** 1, 2, 3 … within the model call. */
  attempt?: number;
  /** The kind of failure. */
  detail?: string;
  /** The provider that had failed before. */
  failover_from?: string;
  /** How long it took. */
  latency_ms?: number;
  /** For which model. */
  model?: string;
  /** What came of it; absent while it is under way. */
  outcome?: "selected" | "failed";
  /** Who was asked. */
  provider?: string;
  /** The failure was worth another attempt. */
  retryable?: boolean;
  /** When it began. */
  timestamp?: string;
}

export interface TraceDetail {
  /** When the run ended; absent while it is open. */
  ended_at?: string;
  /** The request that opened the run, or the name of the pass of retention. */
  request_id: string;
  /** Where its model calls went. */
  route: TraceRoute;
  /** The run; absent for a pass of retention. */
  run_id?: string;
  /** In the order in which they began, each after the one that it is part of. */
  spans?: TraceSpan[];
  /** When the run was opened. */
  started_at?: string;
  /** Its task. */
  task_id?: string;
  /** The trace that the run belongs to. */
  trace_id?: string;
}

export interface TraceEvent {
  /** Names, numbers and words, as on spans. */
  attributes?: Record<string, unknown>;
  /** Such as provider.call.started. */
  name: string;
  /** When it happened. */
  timestamp: string;
}

export interface TraceFailover {
  /** With which model. */
  from_model: string;
  /** Who failed. */
  from_provider: string;
  /** The kind of failure. */
  reason: string;
  /** When it happened. */
  timestamp: string;
  /** For which model. */
  to_model: string;
  /** Who was asked instead. */
  to_provider: string;
}

export interface TraceRoute {
  /** Attempts at model calls, in order; at most the last 64. */
  candidates?: TraceCandidate[];
  /** Calls that went on at another provider; at most the last 64. */
  failovers?: TraceFailover[];
  /** Of the last answer: the provider that had failed before. */
  fallback_from?: string;
  /** With which model. */
  final_model?: string;
  /** Who gave the last answer. */
  final_provider?: string;
  /** Where that is. */
  final_provider_kind?: "cloud" | "local";
}

export interface TraceSpan {
  /** Names, numbers and words; never a prompt, an answer, an argument or a path. */
  attributes?: Record<string, unknown>;
  /** Absent while it goes on. */
  end_time?: string;
  /** What happened in it, in order. */
  events?: TraceEvent[];
  /** client for what is asked of a provider, server for the root. */
  kind?: "server" | "internal" | "client";
  /** Such as orchestrator.step. */
  name: string;
  /** The span that it is part of; that of gateway.request is the span of the HTTP request. */
  parent_span_id?: string;
  /** Its id, 16 hexadecimal digits; the same whenever and wherever the trace is told. */
  span_id: string;
  /** When it began. */
  start_time?: string;
  /** How it ended; unset while it goes on. */
  status_code?: "ok" | "error" | "unset";
  /** Why it is an error, as a word. */
  status_message?: string;
  /** The trace that it belongs to, 32 hexadecimal digits. */
  trace_id: string;
}

export interface TracesAnswerAnswer {
  /** The answer itself. */
  data: unknown;
  /** Names the kind of the answer. */
  object: string;
}

export interface UsageEvent {
  /** What the call cost, in millionths of a US dollar, rounded. */
  amount_micros_usd: number;
  /** The same in US dollars with six decimals. */
  amount_usd: string;
  /** Tokens answered. */
  completion_tokens?: number;
  /** False if the amount is not known; it is then shown as 0. */
  cost_known: boolean;
  /** What is special: abandoned when the worker vanished, failed when the answer broke off, repetition_check when a fast model looked whether the run makes progress, which is none of the run's model calls. */
  detail?: "abandoned" | "failed" | "repetition_check";
  /** The model that answered or was asked. */
  model?: string;
  /** Tokens sent, those read from a cache included. */
  prompt_tokens?: number;
  /** Who answered; of a call without an answer, who was asked. */
  provider?: string;
  /** The request that started the run. */
  request_id?: string;
  /** The run that made the call. */
  run_id?: string;
  /** The account that was charged. */
  scope?: "global";
  /** The task, also after it was deleted. */
  task_id?: string;
  /** When the call was accounted for. */
  timestamp?: string;
  /** Both together. */
  total_tokens?: number;
  /** What was used. */
  type: "usage";
}

export interface UsageEventList {
  /** The answer itself. */
  data: UsageEvent[];
  /** Names the kind of the answer. */
  object: string;
}

export interface UsageSummary {
  /** Where the account is kept. */
  backend: string;
  /** Whether the cost of every call is in the sum. */
  cost_known: boolean;
  /** The account: global or global:provider:<name>. */
  key: string;
  /** The provider whose account it is. */
  provider?: string;
  /** Whether the account was named by scope or by key. */
  scope: "global" | "provider" | "custom";
  /** Calls that may have cost something that nobody knows. */
  unknown_cost_calls: number;
  /** The sum of all known costs, in millionths of a US dollar, rounded once. */
  used_micros_usd: number;
  /** The same in US dollars with six decimals. */
  used_usd: string;
}

export interface UsageSummaryAnswer {
  /** The answer itself. */
  data: UsageSummary;
  /** Names the kind of the answer. */
  object: string;
}

export interface Warning {
  /** A word for programs, such as cost_ceiling_unenforceable. */
  code: string;
  /** The same for people. */
  message: string;
}
