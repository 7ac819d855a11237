package commands_test

import (
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
)

// granted takes a queued run to where a person gave something for the session.
func granted(t *testing.T, x *commands.Executor, runID string, grants ...string) {
	t.Helper()
	begin(t, x, runID)
	ask(t, x, runID, 0, grants...)
	asked := run.ApprovalRequested{ApprovalID: "approval_" + runID, Kind: run.ApprovalBundle, Status: "pending", Digest: "ab"}
	answer := run.ApprovalResolved{ApprovalID: asked.ApprovalID, Kind: run.ApprovalBundle, Decision: "approved", Status: "approved", By: "operator", Digest: "ab"}
	for _, g := range grants {
		answer.Calls = append(answer.Calls, run.CallAnswer{ToolCallID: g, Decision: "approved", Grant: &run.SessionGrant{ID: g, Scope: "exec(" + g + ") args(*)"}})
	}
	advance(t, x, runID, asked, run.AwaitingApproval{}, answer, run.Queued{Kind: run.Orchestrator})
}

func session(t *testing.T, x *commands.Executor, taskID string) (ids []string) {
	t.Helper()
	s, err := x.LatestRun(t.Context(), taskID)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range s.Session {
		ids = append(ids, g.ID)
	}
	return ids
}

// A grant ends while its run works and when it has ended; later runs do not have it.
// What nobody has cannot be revoked, nor can it be twice.
func TestRevokeGrant(t *testing.T) {
	x := newExecutor(t)
	m := commands.Meta{CommandID: "revoke-a"}
	taskID, runID := start(t, x, agent())
	if _, err := x.RevokeGrant(t.Context(), m, taskID, "a"); !isKind(err, fault.KindNotFound) {
		t.Errorf("before it was given: %v", err)
	}
	granted(t, x, runID, "a", "b", "c")
	first, err := x.RevokeGrant(t.Context(), m, taskID, "a")
	if err != nil || len(session(t, x, taskID)) != 2 || len(first.State.Session) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := x.RevokeGrant(t.Context(), m, taskID, "a"); err != nil || again.Position != first.Position {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	if _, err := x.RevokeGrant(t.Context(), commands.Meta{}, taskID, "a"); !isKind(err, fault.KindNotFound) {
		t.Errorf("twice: %v", err)
	}
	cancel(t, x, taskID, runID)
	if _, err := x.RevokeGrant(t.Context(), commands.Meta{}, taskID, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID}); err != nil {
		t.Fatal(err)
	}
	if got := session(t, x, taskID); len(got) != 1 || got[0] != "c" {
		t.Errorf("the next run has %v", got)
	}
	for _, id := range []string{taskID, newTask(t, x, agent()), "task_nobody"} {
		if _, err := x.RevokeGrant(t.Context(), commands.Meta{}, id, "a"); !isKind(err, fault.KindNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A run that is opened while a grant is revoked does not have it, whoever is first.
func TestNoRunTakesOverWhatIsRevoked(t *testing.T) {
	for name, open := range logs {
		t.Run(name, func(t *testing.T) {
			for _, revokesFirst := range []bool{true, false} {
				x := open(t)[0]
				taskID, runID := start(t, x, agent())
				granted(t, x, runID, "a", "b")
				cancel(t, x, taskID, runID)
				resume := func(x *commands.Executor) {
					if _, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID}); err != nil {
						t.Error(err)
					}
				}
				revoke := func(x *commands.Executor) {
					if _, err := x.RevokeGrant(t.Context(), commands.Meta{}, taskID, "a"); err != nil {
						t.Error(err)
					}
				}
				first, second := resume, revoke // the second has decided when the first appends
				if revokesFirst {
					first, second = revoke, resume
				}
				late := *x
				late.Store = &hooked{Store: x.Store, before: func() { first(x) }}
				second(&late)
				if got := session(t, x, taskID); len(got) != 1 || got[0] != "b" {
					t.Errorf("revoked first: %v: the latest run has %v", revokesFirst, got)
				}
			}
		})
	}
}

func TestChangesOfFilesHaveStreamsOfTheirOwn(t *testing.T) {
	x := newExecutor(t)
	m := commands.Meta{CommandID: "c", Actor: eventstore.Actor{Kind: "operator", Name: "ada"}}
	for _, c := range []struct {
		layer  permission.Layer
		file   string
		stream string
	}{
		{permission.LayerUser, "/home/ada/.config/hecate/config.toml", "grants-user"},
		{permission.LayerProject, "/p/.hecate/config.toml", "grants-493112183527a52e1a592c26"},
		{permission.LayerProject, "/p/.hecate/config.toml", "grants-493112183527a52e1a592c26"},
	} {
		changed := run.PermissionChanged{Change: permission.Change{Layer: c.layer, List: permission.ListPromoted, Text: "exec(make) args(*)", Remove: true}, File: c.file, Saved: true}
		done, err := x.ChangeGrants(t.Context(), m, changed)
		if err != nil {
			t.Fatal(err)
		}
		r, err := x.Store.ReadAll(t.Context(), done.Last-1, 1)
		if err != nil || len(r) != 1 || r[0].Stream != c.stream || r[0].Actor.Name != "ada" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if got := types(t, x, commands.GrantStream(permission.LayerProject, "/p/.hecate/config.toml")); len(got) != 2 {
		t.Errorf("the project's history is %v", got)
	}
}
