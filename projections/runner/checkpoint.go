package runner

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hecate/eventstore"
	"hecate/projections/readdb"
)

// The stages of a build.
const (
	stageBuilding = "building"
	stageLive     = "live"    // readers use it
	stageRetired  = "retired" // another one took its place; its tables are to go
)

// checkpoint is a row of the state table.
type checkpoint struct {
	version    int64
	generation int64
	stage      string
	logID      string
	position   int64
	eventID    []byte
}

func checkpoints(ctx context.Context, tx *readdb.Tx, model string) ([]checkpoint, error) {
	var out []checkpoint
	err := tx.Query(ctx, `SELECT version, generation, stage, log_id, position, event_id
		FROM hecate_view_state WHERE model = $1 ORDER BY version, generation`, func(rows *sql.Rows) error {
		var c checkpoint
		if err := rows.Scan(&c.version, &c.generation, &c.stage, &c.logID, &c.position, &c.eventID); err != nil {
			return err
		}
		out = append(out, c)
		return nil
	}, model)
	return out, err
}

// liveCheckpoint returns the build that readers of this version use.
func liveCheckpoint(ctx context.Context, tx *readdb.Tx, m Model) (c checkpoint, found bool, err error) {
	c.version, c.stage = m.Version(), stageLive
	found, err = tx.One(ctx, `SELECT generation, log_id, position, event_id FROM hecate_view_state
		WHERE model = $1 AND version = $2 AND stage = 'live'`,
		[]any{m.Name(), m.Version()}, &c.generation, &c.logID, &c.position, &c.eventID)
	return c, found, err
}

// moveCheckpoint moves the build's row from where it was left, or returns errLost.
func moveCheckpoint(ctx context.Context, tx *readdb.Tx, b *build, to int64, id [16]byte) error {
	n, err := tx.Changed(ctx, `UPDATE hecate_view_state SET position = $1, event_id = $2
		WHERE model = $3 AND version = $4 AND generation = $5 AND position = $6 AND stage <> 'retired'`,
		to, id[:], b.model.Name(), b.model.Version(), b.generation, b.saved)
	if err != nil {
		return fmt.Errorf("move checkpoint of %s: %w", b.model.Name(), err)
	}
	if n == 0 {
		return errLost
	}
	return nil
}

func setStage(ctx context.Context, tx *readdb.Tx, b *build, generation int64, stage string) error {
	return tx.Exec(ctx, `UPDATE hecate_view_state SET stage = $1 WHERE model = $2 AND version = $3 AND generation = $4`,
		stage, b.model.Name(), b.model.Version(), generation)
}

// newBuild makes the tables and the row of the next generation, at position 0.
func newBuild(ctx context.Context, tx *readdb.Tx, db *readdb.DB, m Model, logID, stage string) (*build, error) {
	all, err := checkpoints(ctx, tx, m.Name())
	if err != nil {
		return nil, err
	}
	b := &build{db: db, model: m, generation: 1, fold: m.NewFold(), parked: map[string]parking{}}
	for _, c := range all {
		if c.version != m.Version() {
			continue
		}
		b.generation = max(b.generation, c.generation+1)
		if c.stage == stage { // a build that was given up, or a live one that does not fit
			if err := setStage(ctx, tx, b, c.generation, stageRetired); err != nil {
				return nil, err
			}
		}
	}
	err = tx.Exec(ctx, `INSERT INTO hecate_view_state (model, version, generation, stage, log_id, position, event_id)
		VALUES ($1, $2, $3, $4, $5, 0, $6)`, m.Name(), m.Version(), b.generation, stage, logID, make([]byte, 16))
	if err != nil {
		return nil, err
	}
	return b, tx.Script(ctx, b.suffix(), m.Schema())
}

// openBuild returns the live build, or a new one with the reason for it.
func openBuild(ctx context.Context, db *readdb.DB, m Model, log eventstore.Store) (b *build, reason string, err error) {
	logID, err := log.LogID(ctx)
	if err != nil {
		return nil, "", err
	}
	err = db.Update(ctx, "", func(tx *readdb.Tx) error {
		if err := tx.Lock(ctx, m.Name()); err != nil { // nodes that start together make it once
			return err
		}
		c, found, err := liveCheckpoint(ctx, tx, m)
		if err != nil {
			return err
		}
		reason = "there is none of this version"
		if found {
			if reason, err = misfit(ctx, c, log, logID); err != nil {
				return err
			}
		}
		if reason != "" {
			b, err = newBuild(ctx, tx, db, m, logID, stageLive)
			return err
		}
		b = &build{db: db, model: m, fold: m.NewFold()}
		b.at(c)
		return readParked(ctx, tx, b)
	})
	if err != nil {
		return nil, "", fmt.Errorf("open read model %s: %w", m.Name(), err)
	}
	return b, reason, nil
}

// at places the build where a checkpoint says.
func (b *build) at(c checkpoint) {
	b.generation, b.position, b.saved = c.generation, c.position, c.position
	copy(b.lastID[:], c.eventID)
	b.fold.Forget()
}

// misfit says why a checkpoint does not belong to the log as it is, "" if it does.
func misfit(ctx context.Context, c checkpoint, log eventstore.Store, logID string) (string, error) {
	if c.logID != logID {
		return "it was made from another log", nil
	}
	if c.position == 0 {
		return "", nil
	}
	at, err := log.ReadAll(ctx, c.position-1, 1)
	if err != nil {
		return "", err
	}
	if len(at) == 0 {
		return fmt.Sprintf("it is at position %d, beyond the end of the log", c.position), nil
	}
	if !bytes.Equal(at[0].ID[:], c.eventID) {
		return fmt.Sprintf("the log holds another event at position %d", c.position), nil
	}
	return "", nil
}

// clean drops the tables of builds that nobody reads: those of this version that
// were retired and, where no other process can use them, all but the live one.
func clean(ctx context.Context, db *readdb.DB, m Model, live int64) error {
	var all []checkpoint
	err := db.View(ctx, "", func(tx *readdb.Tx) (err error) {
		all, err = checkpoints(ctx, tx, m.Name())
		return err
	})
	for _, c := range all {
		own := c.version == m.Version()
		ours := db.Single() || own && c.stage == stageRetired // nobody else can be using it
		if !ours || own && c.generation == live {
			continue
		}
		build := fmt.Sprintf("%s_v%dg%d", m.Name(), c.version, c.generation)
		err = errors.Join(err, db.Update(ctx, build, func(tx *readdb.Tx) error {
			if err := tx.Drop(ctx, build); err != nil {
				return err
			}
			for _, table := range []string{"hecate_view_parked", "hecate_view_state"} {
				err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE model = $1 AND version = $2 AND generation = $3`, m.Name(), c.version, c.generation)
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err != nil {
		return fmt.Errorf("drop old tables of %s: %w", m.Name(), err)
	}
	return nil
}
