package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"hecate/eventstore"
	"hecate/projections/readdb"
)

// errMoved says that the checkpoint was not where this process had left it.
var errMoved = errors.New("another process has moved the checkpoint")

// unsavedMax bounds how many records that were of no interest are read again after a
// restart, since the checkpoint is not written for each of them.
const unsavedMax = 4096

// cursor is a checkpoint: a row beside those of the read models, of a reader that keeps
// no rows.
type cursor struct {
	db      *readdb.DB
	log     Log
	name    string
	logID   string
	fromNow bool

	mu     sync.Mutex
	at     int64 // everything up to here is done
	saved  int64 // what the row says
	lastID [16]byte
}

const rowOfCursor = ` WHERE model = $1 AND version = 1 AND generation = 1`

// load goes to where the row says, and makes one with a reason if there is none that fits
// the log.
func (c *cursor) load(ctx context.Context) (at int64, reason string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var id []byte
	err = c.db.Update(ctx, "", func(tx *readdb.Tx) error {
		if err := tx.Lock(ctx, c.name); err != nil { // processes that start together make it once
			return err
		}
		var logID string
		found, err := tx.One(ctx, `SELECT log_id, position, event_id FROM hecate_view_state`+rowOfCursor, []any{c.name}, &logID, &at, &id)
		if err != nil {
			return err
		}
		reason = "there was none"
		if found {
			if reason, err = c.misfit(ctx, logID, at, id); err != nil {
				return err
			}
		}
		if reason == "" {
			return nil
		}
		if at, id, err = c.start(ctx); err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO hecate_view_state (model, version, generation, stage, log_id, position, event_id)
			VALUES ($1, 1, 1, 'live', $2, $3, $4) ON CONFLICT (model, version, generation)
			DO UPDATE SET log_id = excluded.log_id, position = excluded.position, event_id = excluded.event_id`, c.name, c.logID, at, id)
	})
	if err != nil {
		return 0, "", fmt.Errorf("read the checkpoint of %s: %w", c.name, err)
	}
	c.at, c.saved = at, at
	copy(c.lastID[:], id)
	return at, reason, nil
}

// misfit says why a checkpoint does not belong to the log as it is, "" if it does.
func (c *cursor) misfit(ctx context.Context, logID string, at int64, id []byte) (string, error) {
	if logID != c.logID {
		return "it was made from another log", nil
	}
	if at == 0 {
		return "", nil
	}
	there, err := c.log.ReadAll(ctx, at-1, 1)
	if err != nil {
		return "", err
	}
	if len(there) == 0 || !bytes.Equal(there[0].ID[:], id) {
		return fmt.Sprintf("the log does not hold its event at position %d", at), nil
	}
	return "", nil
}

// start is where a reader without a checkpoint begins.
func (c *cursor) start(ctx context.Context) (at int64, id []byte, err error) {
	none := make([]byte, 16)
	if !c.fromNow {
		return 0, none, nil
	}
	head, err := c.log.Head(ctx)
	if err != nil || head == 0 {
		return 0, none, err
	}
	newest, err := c.log.ReadAll(ctx, head-1, 1)
	if err != nil {
		return 0, none, err
	}
	if len(newest) == 0 {
		return 0, none, fmt.Errorf("the log has no record at its head, %d", head)
	}
	return head, newest[0].ID[:], nil
}

// move notes that everything up to r is done. acted says that somebody else has seen
// something of it, so that it is written down at once.
func (c *cursor) move(ctx context.Context, r eventstore.Record, acted bool) error {
	c.mu.Lock()
	c.at, c.lastID = r.Position, r.ID
	due := acted || c.at-c.saved >= unsavedMax
	c.mu.Unlock()
	if !due {
		return nil
	}
	// What was sent was sent, whoever wants to stop.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer stop()
	return c.save(ctx)
}

// save writes the row, from where this process has left it.
func (c *cursor) save(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == c.saved {
		return nil
	}
	err := c.db.Update(ctx, "", func(tx *readdb.Tx) error {
		n, err := tx.Changed(ctx, `UPDATE hecate_view_state SET position = $2, event_id = $3`+rowOfCursor+` AND position = $4`, c.name, c.at, c.lastID[:], c.saved)
		if err == nil && n == 0 {
			err = errMoved
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write the checkpoint of %s: %w", c.name, err)
	}
	c.saved = c.at
	return nil
}

// position is how far this process has come, or whoever writes the row.
func (c *cursor) position(ctx context.Context, own bool) (at int64, err error) {
	if own {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.at, nil
	}
	err = c.db.View(ctx, "", func(tx *readdb.Tx) error {
		_, err := tx.One(ctx, `SELECT position FROM hecate_view_state`+rowOfCursor, []any{c.name}, &at)
		return err
	})
	return at, err
}
