package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hecate/domain/fault"
	"hecate/domain/permission/host"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Filter says which records are wanted: those that meet all of it. The zero value wants
// every record.
type Filter struct {
	TaskID, RunID, ApprovalID string
	Actor                     string   // kind:name, a kind for all of it, or a name of any kind
	Types                     []string // one of these; none means any
	Tool                      string
	Path                      string // as events name it; with a slash at its end everything below it
	Host                      string // as in lists of hosts
	Secret                    string // its name
	From, To                  time.Time
	After, Before             int64 // positions that are not included; 0 for no bound
}

// Order is the order of a page.
type Order bool

// The orders.
const (
	OldestFirst Order = false
	NewestFirst Order = true
)

// Found is a record that was found.
type Found struct {
	Position      int64
	TaskID, RunID string // "" for a record that belongs to none
}

// Page is a piece of what was found.
type Page struct {
	Found []Found
	// Next is where the search goes on: the Before, or oldest first the After, of the next
	// page. 0: there is no more. A page may hold less than was asked for, or nothing, and
	// still go on: it looks at a bounded number of records.
	Next int64
}

// Views answers questions about what records speak of.
type Views struct{ runner *runner.Runner }

// NewViews returns the queries over what the runner keeps.
func NewViews(r *runner.Runner) *Views { return &Views{runner: r} }

// Page returns up to limit records that f wants. A filter that makes no sense is an
// invalid fault, which names the member as the API does.
func (v *Views) Page(ctx context.Context, f Filter, order Order, limit int) (Page, error) {
	out, _, err := v.page(ctx, f, order, limit)
	return out, err
}

// page also says what the page has cost.
func (v *Views) page(ctx context.Context, f Filter, order Order, limit int) (out Page, spent budget, err error) {
	wanted, err := f.names()
	if err != nil {
		return out, spent, err
	}
	err = v.runner.View(ctx, Name, func(tx *readdb.Tx) (err error) {
		out = Page{}
		s := search{tx: tx, way: direction(order), limit: limit, from: f.From, to: f.To, after: f.After, before: f.Before}
		for _, w := range wanted {
			codes, err := w.codes(ctx, tx)
			if err != nil || len(codes) == 0 {
				return err
			}
			s.lists = append(s.lists, codes)
		}
		out, err = s.run(ctx)
		spent = s.spent
		return err
	})
	if err != nil && !isFault(err) {
		err = fmt.Errorf("search the log: %w", err)
	}
	return out, spent, err
}

// Effects returns up to limit records that the one at a position led to, in order,
// behind the position after.
func (v *Views) Effects(ctx context.Context, position, after int64, limit int) (Page, error) {
	var out Page
	err := v.runner.View(ctx, Name, func(tx *readdb.Tx) (err error) {
		s := search{tx: tx, limit: limit, after: max(after, position)}
		out, err = s.effects(ctx, position)
		return err
	})
	if err != nil {
		err = fmt.Errorf("search the log: %w", err)
	}
	return out, err
}

func isFault(err error) bool {
	_, ok := fault.Of(err)
	return ok
}

// choice is what one member of a filter asks for: one of the names.
type choice struct {
	kind   int64
	values []string
	actor  string // an actor, which may be several
}

// names are the choices of a filter.
func (f Filter) names() ([]choice, error) {
	var out []choice
	for _, one := range []struct {
		kind  int64
		value string
	}{{kindTask, f.TaskID}, {kindRun, f.RunID}, {kindApproval, f.ApprovalID}, {kindTool, f.Tool}, {kindSecret, f.Secret}} {
		if one.value != "" {
			out = append(out, choice{kind: one.kind, values: []string{one.value}})
		}
	}
	if len(f.Types) > choicesMax {
		return nil, fault.Invalid("invalid_request", "event_type: %d types, at most %d can be asked for at once", len(f.Types), choicesMax)
	}
	if len(f.Types) > 0 {
		out = append(out, choice{kind: kindType, values: f.Types})
	}
	if f.Actor != "" {
		out = append(out, choice{kind: kindActor, actor: f.Actor})
	}
	if f.Path != "" {
		out = append(out, choice{kind: kindPath, values: []string{cleanPath(f.Path)}})
	}
	if f.Host != "" {
		h, err := host.Parse(f.Host)
		if err != nil {
			return nil, fault.Invalid("invalid_request", "host: %v", err)
		}
		out = append(out, choice{kind: kindHost, values: []string{h.String()}})
	}
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From) {
		return nil, fault.Invalid("invalid_request", "to: it lies before from")
	}
	return out, nil
}

// cleanPath is a path as the table knows it.
func cleanPath(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		return clean + "/"
	}
	return clean
}

// choicesMax bounds the names of one choice.
const choicesMax = 100

var errTooMany = errors.New("too many")

// codes are the numbers of the names that the log has spoken of.
func (c choice) codes(ctx context.Context, tx *readdb.Tx) ([]int64, error) {
	if c.actor != "" {
		return actorCodes(ctx, tx, c.actor)
	}
	keys := make([][]byte, len(c.values))
	for i, v := range c.values {
		keys[i] = []byte(name{c.kind, v}.short().value)
	}
	var out []int64
	err := byKeys(ctx, tx, codesQuery, []any{c.kind}, keys, func(r *sql.Rows) error {
		var code int64
		err := r.Scan(&code)
		if !slices.Contains(out, code) {
			out = append(out, code)
		}
		return err
	})
	return out, err
}
