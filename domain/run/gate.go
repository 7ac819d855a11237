package run

import (
	"strconv"

	"hecate/domain/event"
	"hecate/domain/permission"
)

// Gate is an approval that stands before a run's execution.
type Gate struct {
	Kind   ApprovalKind
	Reason string
}

// gates are those of the direct kinds.
var gates = map[string]Gate{
	KindShell: {ApprovalShell, "Shell execution requires approval before it starts."},
	KindGit:   {ApprovalGit, "Git execution requires approval before it starts."},
	KindFile:  {ApprovalFile, "File writes require approval before they start."},
}

// GateBefore returns the gate before a run, nil if it may start at once. At most
// one stands there; the one of the run's own kind wins over the network's.
func GateBefore(sp Spec, p permission.Posture) *Gate {
	if g, ok := gates[sp.ExecutionKind]; ok {
		if permission.Decide(permission.Call{Tool: sp.ExecutionKind}, p).Decision == permission.Ask {
			return &g
		}
	}
	if sp.Network && p.AsksBeforeNetwork() {
		return &Gate{ApprovalNetwork, "Network-enabled tasks require approval before execution."}
	}
	return nil
}

// Request is what g asks for before run s goes on.
func (g Gate) Request(s *State, sp Spec) []event.Payload {
	digest := DirectDigest(s.ID, sp)
	return []event.Payload{
		ApprovalRequested{
			ApprovalID: s.approvalID(digest), Kind: g.Kind, Status: "pending", PolicyReason: g.Reason,
			RequestedBy: "operator", Digest: digest, Summary: []string{sp.summary()}, SummaryIncomplete: true,
		},
		AwaitingApproval{Status: StatusAwaitingApproval, Kind: Orchestrator},
	}
}

// summary names what a direct run does without showing its contents.
func (sp Spec) summary() string {
	switch sp.ExecutionKind {
	case KindShell:
		return "shell command details withheld (command_bytes=" + itoa(sp.ShellCommand.Len()) + ")"
	case KindGit:
		return "git command details withheld (command_bytes=" + itoa(sp.GitCommand.Len()) + ")"
	case KindFile:
		return "file " + sp.FileOperation + " path=" + sp.FilePath + " content_bytes=" + itoa(sp.FileContent.Len())
	}
	return "agent loop with network access"
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
