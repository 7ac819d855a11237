package operation

import (
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
)

// The states of a patch.
const (
	Proposed = "proposed"
	Applied  = "applied"
	Reverted = "reverted"
)

// Patch is one patch of a run, as the run's events fold to it.
type Patch struct {
	ID     string // of its artifact
	Fact   run.FilePatch
	Status string // "" while the run has no such patch

	withheld []string // secrets that are not in Fact
}

// Apply folds one event of the run.
func (p *Patch) Apply(e event.Event) {
	switch f := e.Payload.(type) {
	case run.FilePatch:
		if f.ArtifactID == p.ID {
			p.Fact, p.Status, p.withheld = f, f.ArtifactStatus, e.Withheld
		}
	case run.FileApplied:
		if f.ArtifactID == p.ID {
			p.Status = f.ArtifactStatus
		}
	case run.FileReverted:
		if f.ArtifactID == p.ID {
			p.Status = f.ArtifactStatus
		}
	}
}

// May returns a fault if the patch cannot be applied, or reverted, in its state.
func (p *Patch) May(k Kind) error {
	want, verb := Proposed, "applied"
	if k == PatchRevert {
		want, verb = Applied, "reverted"
	}
	switch p.Status {
	case want:
		if len(p.withheld) > 0 {
			return fault.Conflict("invalid_request", "the patch held the secret %s, which the log does not have, so the file would not get it back; "+
				"change the file by hand, or restore the workspace to before the call", strings.Join(p.withheld, ", "))
		}
		return nil
	case "":
		return fault.NotFound("not_found", "task patch not found")
	}
	return fault.Conflict("invalid_request", "the patch is %s; only one that is %s can be %s", p.Status, want, verb)
}

// Result is the fact that the patch was applied, or reverted, by an operation.
func (p *Patch) Result(k Kind, operationID string) event.Payload {
	if k == PatchApply {
		return run.FileApplied{ArtifactID: p.ID, Path: p.Fact.Path, ArtifactStatus: Applied, OperationID: operationID}
	}
	return run.FileReverted{
		ArtifactID: p.ID, Path: p.Fact.Path, ArtifactStatus: Reverted, BeforeExisted: p.Fact.BeforeExisted, OperationID: operationID,
	}
}
