package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/runtime/workspace"
	"hecate/tools"
	"hecate/tools/gitrepo"
)

// perform does the one thing that is next.
func (a *attempt) perform(ctx context.Context, effect run.Effect) error {
	if d, ok := effect.(run.Dispatch); !ok || !a.locks.are(d) {
		a.unlock(ctx) // what was allowed before the wait for locks is not what is next
	}
	switch e := effect.(type) {
	case run.Begin:
		return a.begin(ctx, e)
	case run.Abandon:
		a.stage(run.ModelCallAbandoned{ModelCallIndex: e.Call.Index, StepID: e.Call.StepID, Reason: "the worker vanished while the model call was under way"})
		return nil
	case run.Tell:
		a.stage(run.ConversationSeeded(e))
		return nil
	case run.Warn:
		a.stage(run.Warned(e))
		return nil
	case run.CallModel:
		return a.callModel(ctx, e)
	case run.Remember:
		a.remember(e.Grant)
		return nil
	case run.Check:
		return a.check(ctx, e)
	case run.AbandonCheck:
		a.stage(a.s.AbandonedCheck(e.Check, "the worker vanished while the check was under way"))
		return nil
	case run.Ask:
		return a.ask(ctx, e)
	case run.AskFirst:
		a.stage(e.Gate.Request(a.s, a.s.Spec)...)
		return a.flush(ctx)
	case run.Refuse:
		a.stage(a.refusal(e.Call, e.Index, run.OutcomeRefused, e.Reason))
		return nil
	case run.Decline:
		a.decline(e)
		return nil
	case run.Block:
		a.block(e)
		return nil
	case run.Dispatch:
		return a.dispatch(ctx, e)
	case run.SettleUnknown:
		return a.settleUnknown(ctx, e.Intent)
	case run.Answer:
		a.windUp(ctx)
		a.stage(a.s.Conclude(e.Batch)...)
		return a.flush(ctx)
	case run.Finish:
		a.windUp(ctx)
		a.stage(run.Finished{FinalStatus: run.StatusCompleted, ModelCallCount: a.s.CallsDone})
		return a.flush(ctx)
	case run.Fail:
		return a.fail(ctx, e)
	}
	return fmt.Errorf("perform %T: unknown effect", effect)
}

func (a *attempt) fail(ctx context.Context, e run.Fail) error {
	a.windUp(ctx)
	a.stage(a.s.Failing(e)...)
	return a.flush(ctx)
}

// windUp records what a run leaves behind in its workspace.
func (a *attempt) windUp(ctx context.Context) {
	a.stage(a.endTerminals()...)
	a.stage(a.lastLook(ctx)...)
	a.stage(a.gitSummary(ctx)...)
}

// begin prepares the workspace and records that this worker executes the run. A
// run that cannot be given a workspace has begun and failed.
func (a *attempt) begin(ctx context.Context, e run.Begin) error {
	started := run.Started{
		Kind: run.Orchestrator, Route: a.s.Route, WorkspaceID: workspace.ID(a.s.Home()), WorkspacePath: a.s.WorkspacePath,
		WorkerID: a.NodeID, Resume: e.Resume,
	}
	if started.WorkspacePath == "" && a.s.Spec.WorkspaceMode != "in_place" {
		// Making a copy can take long, and can take the process down: who does it must be known.
		if err := a.flush(ctx); err != nil {
			return err
		}
	}
	problem := a.openWorkspace(ctx, &started)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a.stage(started)
	if problem != nil {
		a.stage(a.s.Failing(run.Fail{Reason: "workspace_unavailable", Message: problem.Error()})...)
		return a.flush(ctx)
	}
	a.foresee(ctx)
	if a.s.Spec.ExecutionKind == run.KindAgentLoop && !a.s.Seeded {
		a.stage(run.ConversationSeeded{Messages: a.seed()})
	}
	return nil
}

func (a *attempt) openWorkspace(ctx context.Context, started *run.Started) error {
	if started.WorkspacePath == "" {
		path, err := a.Workspaces.Prepare(ctx, a.s)
		if err != nil {
			return err
		}
		started.WorkspacePath = path
	}
	root, err := os.OpenRoot(started.WorkspacePath)
	if err != nil {
		return fmt.Errorf("the run's workspace is gone: %w", err)
	}
	if a.root != nil {
		a.root.Close()
	}
	a.root = root
	return nil
}

// decline settles a call that a person refused.
func (a *attempt) decline(e run.Decline) {
	settled := a.refusal(e.Call, e.Index, run.OutcomeBlocked, e.Reason)
	settled.Title, settled.ErrorKind, settled.ApprovalID = e.Call.Name+" (denied)", "approval_denied", e.ApprovalID
	settled.Output = map[string]any{"blocked": true, "policy": "approval", "reason": e.Reason, "approval_id": e.ApprovalID}
	a.stage(settled)
}

func (a *attempt) block(e run.Block) {
	ruling := run.RulingOf(e.Verdict)
	settled := a.refusal(e.Call, e.Index, run.OutcomeBlocked, e.Verdict.Reason)
	if a.s.Spec.ExecutionKind != run.KindAgentLoop && e.Verdict.Layer == permission.LayerLimit {
		settled.Error = bound("sandbox policy denied: " + e.Verdict.Reason) // the run's last error, as clients know it
	}
	settled.Title = e.Call.Name + " (blocked)"
	settled.ErrorKind = "sandbox_policy_denied"
	settled.Output = map[string]any{"blocked": true, "policy": e.Verdict.Policy, "reason": e.Verdict.Reason}
	settled.Ruling = &ruling
	a.stage(run.ToolBlocked{
		ToolCallID: e.Call.ID, ToolName: e.Call.Name, Kind: "builtin", Result: "blocked",
		Policy: e.Verdict.Policy, Reason: e.Verdict.Reason, Ruling: ruling, Gates: e.Verdict.Unanswered(),
	}, settled)
}

// refusal settles a call that is not dispatched.
func (a *attempt) refusal(c run.ToolCall, index int64, o run.Outcome, reason string) run.DispatchSettled {
	text := c.Name + ": " + reason
	return run.DispatchSettled{
		ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, StepID: a.s.NextStepID(), Outcome: o,
		Result: event.NewText(text), ToolError: true, Title: c.Name + " (failed)", Error: bound(text),
		Input: a.callInput(c, index), Repeat: a.repeated(c, text),
	}
}

// callInput names a call and the answer that asked for it, which may be an earlier run's.
func (a *attempt) callInput(c run.ToolCall, index int64) map[string]any {
	in := map[string]any{"tool": c.Name, "tool_call_id": c.ID}
	if b := a.s.Batch; b != nil && b.Origin != nil && index == 0 {
		in["source_run_id"], in["source_model_call_index"] = b.Origin.RunID, b.Origin.Index
	} else {
		in["model_call_index"] = index
	}
	return in
}

// settleUnknown settles an intent without a result. One that an earlier run began may
// have got its result since this run was opened.
func (a *attempt) settleUnknown(ctx context.Context, i run.DispatchIntended) error {
	settled := a.unknown(i)
	if i.StepID == "" && a.s.Source != nil {
		source := run.New(a.s.Source.RunID)
		if err := a.Executor.Load(ctx, commands.RunStream(source.ID), 0, source.Apply); err != nil {
			return fmt.Errorf("look for the result of an inherited call: %w", err)
		}
		if got := source.Batch.Settled[i.ToolCallID]; got.Outcome != "" {
			settled.Outcome, settled.Result, settled.ToolError, settled.Title = got.Outcome, got.Result, got.ToolError, got.Title
			settled.Error, settled.ErrorKind, settled.ExitCode, settled.Output = got.Error, got.ErrorKind, got.ExitCode, got.Output
		}
	}
	a.stage(settled)
	return nil
}

// unknown settles an intent whose result nobody has. It is never run again.
func (a *attempt) unknown(i run.DispatchIntended) run.DispatchSettled {
	text := run.UnknownText(i.ToolName)
	d := run.DispatchSettled{
		ModelCallIndex: i.ModelCallIndex, ToolCallID: i.ToolCallID, ToolName: i.ToolName, StepID: i.StepID, Outcome: run.OutcomeUnknown,
		Result: event.NewText(text), ToolError: true, Title: i.ToolName + " (outcome unknown)", Error: text,
		ErrorKind: "tool_dispatch_outcome_unknown",
		Output:    map[string]any{"recovery_result_missing": true, "automatic_replay_denied": true},
	}
	if d.StepID == "" { // the call was dispatched in an earlier run
		d.StepID = a.s.NextStepID()
		d.Input = map[string]any{"tool": i.ToolName, "tool_call_id": i.ToolCallID, "source_run_id": i.SourceRunID, "source_model_call_index": i.SourceIndex}
	}
	return d
}

// gitSummary records what changed in a workspace that is a git repository, whenever
// the run stops. A later summary takes the place of the one before.
func (a *attempt) gitSummary(ctx context.Context) []event.Payload {
	if a.s.WorkspacePath == "" || !gitrepo.Inside(a.s.WorkspacePath) {
		return nil
	}
	changes, err := gitrepo.Changes(context.WithoutCancel(ctx), a.s.WorkspacePath)
	if err != nil {
		a.Log.Warn("summarize changes", "run_id", a.s.ID, "error", err)
		return nil
	}
	if len(changes.Files) == 0 {
		return nil
	}
	content, err := json.Marshal(struct {
		WorkspacePath string `json:"workspace_path"`
		gitrepo.Summary
	}{a.s.WorkspacePath, changes})
	if err != nil {
		a.Log.Warn("summarize changes", "run_id", a.s.ID, "error", err)
		return nil
	}
	return []event.Payload{run.ArtifactRecorded{
		ArtifactID: ident.Derive("artifact", a.s.ID, "git-summary"), Kind: "git_summary", Name: "git-changes.json",
		Description: "Files changed in the workspace", MIMEType: "application/json", Status: "ready", Content: event.NewText(string(content)),
	}}
}

// env is the handler's environment for one call.
func (a *attempt) env(c run.ToolCall, stepID string) *tools.Env {
	cache, err := a.Workspaces.Cache(a.s)
	if err != nil {
		a.Log.Warn("make a cache for build tools", "run_id", a.s.ID, "error", err)
		cache = ""
	}
	settings := a.Settings
	settings.Lease = a.t.lease
	return &tools.Env{
		CacheDir: cache,
		Root:     a.root, RootPath: a.s.WorkspacePath, RunID: a.s.ID, TaskID: a.s.TaskID, StepID: stepID, ToolCallID: c.ID, ToolName: c.Name,
		ReadOnly: a.s.Spec.ReadOnly, Network: a.s.Spec.Network, Timeout: commandTimeout(a.s.Spec.TimeoutMS), RTK: a.s.Spec.RTK, Settings: settings,
		Emit:     a.emit,
		Artifact: a.findArtifact,
		Denied:   a.denied(), DeniedURL: a.deniedURL(c.Name),

		Terminals: a.terminals(), Opened: a.opened,

		EditConfig: a.editConfig(c), Withheld: a.lacks.add,
	}
}

// denied reports which files are kept back from a search: the server's own, and what a
// deny on view is about, by what the files say at the moment; nil if there are none.
func (a *attempt) denied() func(rel string) bool {
	var config permission.Config
	if a.Permissions != nil {
		config = a.Permissions.For(a.project())
	}
	own := permission.Posture{Hidden: a.hidden()}
	if len(config.Entries) == 0 && len(own.Hidden) == 0 {
		return nil
	}
	// A search follows no links: what it finds is where it says.
	return func(rel string) bool {
		return own.Hides(rel) || len(config.Denied("view", tools.Place{}.Paths(rel))) > 0
	}
}
