package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Records reads the whole log from its database, SQLite or PostgreSQL, whose tables
// have the usual prefix. What is appended meanwhile is not missed in the middle.
func Records(ctx context.Context, db *sql.DB) (out []Record, err error) {
	rows, err := db.QueryContext(ctx, `SELECT l.position, l.stream, l.version, l.type, l.actor_kind, l.actor_name, p.data
		FROM hecate_log l LEFT JOIN hecate_payload p ON p.position = l.position ORDER BY l.position`)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Record
		if err := rows.Scan(&r.Position, &r.Stream, &r.Version, &r.Type, &r.ActorKind, &r.ActorName, &r.Data); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Events reads the whole feed of GET /hecate/v1/events, page by page. get returns the
// body of the answer about what follows a sequence.
func Events(get func(after int64) ([]byte, error)) ([]Event, error) {
	out := []Event{}
	for after := int64(0); ; {
		body, err := get(after)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data []Event `json:"data"`
			Next int64   `json:"next_after_sequence"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("read events after %d: %w", after, err)
		}
		if len(page.Data) == 0 {
			return out, nil
		}
		out = append(out, page.Data...)
		after = page.Next
	}
}
