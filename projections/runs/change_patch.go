package runs

import (
	"context"
	"encoding/json"
	"fmt"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections/readdb"
)

// patchState is what a fact says about the state of a patch; id is "" if it says nothing.
func patchState(p event.Payload) (id, status string) {
	switch p := p.(type) {
	case run.FileApplied:
		return p.ArtifactID, p.ArtifactStatus
	case run.FileReverted:
		return p.ArtifactID, p.ArtifactStatus
	}
	return "", ""
}

// patchIs notes the state of a patch. Nothing else of the run changes. Patches are not
// kept in memory once they are made, so one that is not waiting to be written is read.
func (c change) patchIs(ctx context.Context, tx *readdb.Tx, id, status string) error {
	for _, a := range c.f.dirtyArtifacts {
		if a.run == c.r.pos && a.doc.ID == id {
			a.doc.Status = status
			return nil
		}
	}
	a := &artifactRow{run: c.r.pos}
	var doc []byte
	found, err := tx.One(ctx, `SELECT pos, doc FROM hecate_view_artifacts_@ WHERE run = $1 AND artifact_id = $2`, []any{c.r.pos, id}, &a.pos, &doc)
	if err != nil || !found {
		return err
	}
	if err := json.Unmarshal(doc, &a.doc); err != nil {
		return fmt.Errorf("read artifact %s: %w", id, err)
	}
	a.doc.Status = status
	c.touchArtifact(a)
	return nil
}
