package stored

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Fault is a row beside the log that does not agree with it.
type Fault struct {
	Position int64 // of the record that is concerned; 0 if there is none
	Text     string
}

// Faults returns what does not agree with the log in the tables that repeat parts of it: the
// commands, the open work, and how many versions of streams there are. Of each table it names
// the first disagreement. Records behind position last are left out.
func (l *Log) Faults(ctx context.Context, last int64) (faults []Fault, err error) {
	checks := []func(context.Context, int64) (Fault, error){l.commandsAstray, l.emptyCommands, l.openWorkAstray}
	if l.indexed {
		checks = append(checks, l.streamsTooMany)
	}
	return first(ctx, last, checks)
}

// StreamFaults returns the first place where the table of streams does not agree with the
// log. It takes long; Places tell whether there is one.
func (l *Log) StreamFaults(ctx context.Context, last int64) ([]Fault, error) {
	return first(ctx, last, []func(context.Context, int64) (Fault, error){l.streamsAstray})
}

func first(ctx context.Context, last int64, checks []func(context.Context, int64) (Fault, error)) (faults []Fault, err error) {
	for _, check := range checks {
		f, err := check(ctx, last)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// commandsAstray looks for commands whose first or last record is another one's.
func (l *Log) commandsAstray(ctx context.Context, last int64) (f Fault, err error) {
	var id string
	var span Span
	err = l.row(ctx, `SELECT c.command_id, c.first, c.last FROM hecate_commands c
		LEFT JOIN hecate_log a ON a.position = c.first LEFT JOIN hecate_log b ON b.position = c.last
		WHERE c.first <= c.last AND c.first <= ? AND (a.position IS NULL OR b.position IS NULL
			OR a.command_id <> c.command_id OR b.command_id <> c.command_id) ORDER BY c.first LIMIT 1`, last).
		Scan(&id, &span.First, &span.Last)
	return Fault{span.First, fmt.Sprintf("command %.100q is said to have appended records %d to %d, and they do not say so", id, span.First, span.Last)}, err
}

// emptyCommands looks for commands that appended nothing and stand at an impossible place.
func (l *Log) emptyCommands(ctx context.Context, _ int64) (f Fault, err error) {
	var id string
	var span Span
	err = l.row(ctx, `SELECT command_id, first, last FROM hecate_commands
		WHERE first > last AND (first <> last + 1 OR first < 1) ORDER BY first LIMIT 1`).Scan(&id, &span.First, &span.Last)
	return Fault{max(span.First, 0), fmt.Sprintf("command %.100q is said to have appended records %d to %d", id, span.First, span.Last)}, err
}

func (l *Log) openWorkAstray(ctx context.Context, _ int64) (f Fault, err error) {
	var stream string
	err = l.row(ctx, `SELECT o.stream, o.since FROM hecate_open_work o LEFT JOIN hecate_log l ON l.position = o.since
		WHERE l.position IS NULL OR l.stream <> o.stream ORDER BY o.since LIMIT 1`).Scan(&stream, &f.Position)
	f.Text = fmt.Sprintf("the open work of %.200q is said to begin with it, and it is no record of that stream", stream)
	return f, err
}

// streamsAstray looks for records that the table of streams does not know, or places elsewhere.
func (l *Log) streamsAstray(ctx context.Context, last int64) (f Fault, err error) {
	var stream, version sql.NullString // whatever stands there
	err = l.row(ctx, `SELECT l.position, l.stream, l.version FROM hecate_log l
		LEFT JOIN hecate_streams s ON s.stream = l.stream AND s.version = l.version
		WHERE l.position <= (SELECT indexed FROM hecate_log_state) AND l.position <= ? AND s.position IS NOT l.position
		ORDER BY l.position LIMIT 1`, last).Scan(&f.Position, &stream, &version)
	f.Text = fmt.Sprintf("the table of streams does not name it as version %s of %.200q", version.String, stream.String)
	return f, err
}

func (l *Log) streamsTooMany(ctx context.Context, _ int64) (f Fault, err error) {
	var rows, indexed int64
	err = l.row(ctx, `SELECT * FROM (SELECT (SELECT count(*) FROM hecate_streams) AS n, indexed FROM hecate_log_state) WHERE n <> indexed`).Scan(&rows, &indexed)
	f.Text = fmt.Sprintf("the table of streams has %d rows for the first %d records", rows, indexed)
	return f, err
}
