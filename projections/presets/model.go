// Package presets keeps the work policies that somebody wrote, one row each, and lists
// them together with the built-in ones.
package presets

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hecate/domain/preset"
	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Name is the model's name, for runner.WaitFor and the like.
const Name = "presets"

// version counts changes of the table or of what a fact means in it.
const version = 1

// Model is the read model of work policies.
type Model struct{}

// Name returns Name.
func (Model) Name() string { return Name }

// Version returns the version of the code and the table.
func (Model) Version() int64 { return version }

// Schema makes the table.
func (Model) Schema() string { return readmodel.Presets }

// Wants reports whether facts of this type matter.
func (Model) Wants(eventType string) bool {
	switch eventType {
	case preset.Created{}.EventType(), preset.Updated{}.EventType(), preset.Deleted{}.EventType():
		return true
	}
	return false
}

// NewFold returns a fold. It keeps nothing in memory: policies change rarely.
func (Model) NewFold() runner.Fold { return fold{} }

type fold struct{}

// Apply takes one fact.
func (fold) Apply(ctx context.Context, tx *readdb.Tx, fact runner.Fact) error {
	id, ok := strings.CutPrefix(fact.Stream, "preset-")
	if !ok {
		return fmt.Errorf("stream %s is no work policy's", fact.Stream)
	}
	at := fact.At.UnixMicro()
	switch p := fact.Payload.(type) {
	case preset.Created:
		doc, err := json.Marshal(p.Definition)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO hecate_view_presets_@ (preset_id, created, updated, doc) VALUES ($1, $2, $2, $3)`, id, at, doc)
	case preset.Updated:
		doc, err := json.Marshal(p.Definition)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE hecate_view_presets_@ SET updated = $1, doc = $2 WHERE preset_id = $3`, at, doc, id)
	case preset.Deleted:
		return tx.Exec(ctx, `DELETE FROM hecate_view_presets_@ WHERE preset_id = $1`, id)
	}
	return nil
}

// Flush has nothing left to write.
func (fold) Flush(context.Context, *readdb.Tx) error { return nil }

// Forget has nothing to drop.
func (fold) Forget() {}
