package audit

import (
	"context"
	"path"
	"slices"
	"strings"

	"hecate/domain/erasure"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

const (
	namesMax    = 32 << 10 // names that are kept in memory between batches, see recent
	streamRun   = "run-"
	streamTask  = "task-"
	streamOp    = "op-"
	streamOther = "external-"
)

// code is the number of a name, and of what it belongs to.
type code struct{ code, owner int64 }

// fold keeps names that it has met. They never change, so there is nothing to keep up.
type fold struct {
	codes  *recent[name, code]
	whole  bool            // codes has all that there are: a build from nothing asks the database for none
	met    sieve           // those that such a build has met when it cannot keep them all
	owners map[int64]int64 // tasks of runs, by their codes

	workspaces map[string]string // by run; "" where it has none

	last int64 // the highest code, -1 until it is read
	top  int64 // the highest position; what comes before it belongs between what is there

	names   readdb.Rows
	lists   lists
	records records
	spans   spans
	seen    []int64 // codes of the record at hand
}

func newFold() *fold {
	f := &fold{}
	f.Forget()
	return f
}

// Forget drops everything in memory.
func (f *fold) Forget() {
	*f = fold{
		codes: newRecent[name, code](namesMax), owners: map[int64]int64{}, workspaces: map[string]string{}, last: -1,
		names: readdb.Rows{Table: namesTable}, lists: newLists(), records: newRecords(), spans: spans{},
	}
}

// open finds where the model ends.
func (f *fold) open(ctx context.Context, tx *readdb.Tx) error {
	if f.last >= 0 {
		return nil
	}
	var last int64
	if _, err := tx.One(ctx, `SELECT coalesce(max(code), 0) FROM hecate_view_audit_names_@`, nil, &last); err != nil {
		return err
	}
	var data []byte
	found, err := tx.One(ctx, `SELECT slot, data FROM hecate_view_audit_records_@ ORDER BY slot DESC LIMIT 1`, nil, &f.records.top, &data)
	if err == nil {
		err = eachEntry(f.records.top, data, func(e *entry) { f.top = e.position })
	}
	if err == nil {
		f.last, f.whole = last, !found && last == 0
	}
	return err
}

// Apply takes one record.
func (f *fold) Apply(ctx context.Context, tx *readdb.Tx, fact runner.Fact) error {
	r, m := &fact.Record, mentionsOf(&fact.Record)
	f.seen = f.seen[:0]
	if err := f.open(ctx, tx); err != nil {
		return err
	}
	task, of, err := f.belongs(ctx, tx, r, &m)
	if err != nil {
		return err
	}
	typ := r.Type
	if typ == externalEvent && m.Type != "" {
		typ = m.Type
	}
	workspace, err := f.workspace(ctx, tx, r, &m)
	if err != nil {
		return err
	}
	for _, n := range append(m.names(r, workspace), name{kindType, typ}, name{kindActor, actorName(r.Actor)}) {
		if _, err := f.mention(ctx, tx, n, 0, r.Position); err != nil {
			return err
		}
	}
	if r.CausedBy > 0 {
		e := effect(r.CausedBy, r.Position)
		f.list(e.code, e.at, r.Position)
	}
	f.top = max(f.top, r.Position)
	e := entry{position: r.Position, at: r.At.UnixMicro(), cause: r.CausedBy, task: task, run: of, codes: slices.Clone(f.seen)}
	if err := f.records.add(ctx, tx, e); err != nil {
		return err
	}
	if err := f.spans.add(ctx, tx, r.Position, e.at); err != nil || r.Type != erasure.Type {
		return err
	}
	return f.erased(ctx, tx, r)
}

// list adds a place to a list. A record that could not be taken when it came is late: others
// stand behind it.
func (f *fold) list(code, at, position int64) {
	if position <= f.top {
		f.lists.late = append(f.lists.late, place{code, at})
		return
	}
	f.lists.add(code, at)
}

// causesTogether is how many positions share a list of what they led to.
const causesTogether = 64

// effect is where a list says that the record at one position led to that at another.
func effect(cause, position int64) place {
	return place{-1 - cause/causesTogether, position*causesTogether + cause%causesTogether}
}

// workspace returns where the run works that a record is of, once that is known.
func (f *fold) workspace(ctx context.Context, tx *readdb.Tx, r *eventstore.Record, m *mentions) (string, error) {
	id, ok := strings.CutPrefix(r.Stream, streamRun)
	if !ok {
		return "", nil
	}
	if m.Workspace != "" {
		at, err := f.code(ctx, tx, name{kindRoot, path.Clean(m.Workspace)}, 0)
		if err == nil {
			_, err = f.code(ctx, tx, name{kindWorkspace, id}, at.code)
		}
		f.workspaces[id] = path.Clean(m.Workspace)
		return "", err // the record speaks of the workspace, not of a file in it
	}
	if !path.IsAbs(m.Path) && !path.IsAbs(m.Input.Path) {
		return "", nil
	}
	if at, ok := f.workspaces[id]; ok {
		return at, nil
	}
	var at []byte
	_, err := tx.One(ctx, `SELECT p.value FROM hecate_view_audit_names_@ w JOIN hecate_view_audit_names_@ p ON p.code = w.owner WHERE w.kind = $1 AND w.value = $2`,
		[]any{kindWorkspace, []byte(name{kindWorkspace, id}.short().value)}, &at)
	f.workspaces[id] = string(at)
	return string(at), err
}

// belongs finds the task and the run of a record, and notes the record there.
func (f *fold) belongs(ctx context.Context, tx *readdb.Tx, r *eventstore.Record, m *mentions) (task, of int64, err error) {
	taskID, runID := m.TaskID, m.RunID
	if id, ok := strings.CutPrefix(r.Stream, streamTask); ok {
		taskID = id
	}
	if id, ok := strings.CutPrefix(r.Stream, streamRun); ok {
		if runID = id; r.Type != (run.Created{}).EventType() { // others may speak of another task
			taskID = ""
		}
	}
	if id, ok := strings.CutPrefix(r.Stream, streamOther); ok {
		taskID, runID = "", id
	}
	if id, ok := strings.CutPrefix(r.Stream, streamOp); ok {
		return f.operation(ctx, tx, r, id, taskID, runID)
	}
	return f.owned(ctx, tx, r, taskID, runID)
}

// operation does so for an operation on a workspace: only its first record says where.
func (f *fold) operation(ctx context.Context, tx *readdb.Tx, r *eventstore.Record, id, taskID, runID string) (task, of int64, err error) {
	if task, of, err = f.owned(ctx, tx, r, taskID, runID); err != nil {
		return 0, 0, err
	}
	op, err := f.mention(ctx, tx, name{kindOperation, id}, of, r.Position)
	if err != nil || of != 0 || op.owner == 0 {
		return task, of, err
	}
	owner, err := f.ownerOf(ctx, tx, op.owner)
	if err != nil {
		return 0, 0, err
	}
	f.place(op.owner, r.Position)
	if owner != 0 {
		f.place(owner, r.Position)
	}
	return owner, op.owner, nil
}

func (f *fold) owned(ctx context.Context, tx *readdb.Tx, r *eventstore.Record, taskID, runID string) (task, of int64, err error) {
	if taskID != "" {
		c, err := f.mention(ctx, tx, name{kindTask, taskID}, 0, r.Position)
		if err != nil {
			return 0, 0, err
		}
		task = c.code
	}
	if runID == "" {
		return task, 0, nil
	}
	c, err := f.mention(ctx, tx, name{kindRun, runID}, task, r.Position)
	if err == nil && task == 0 && c.owner != 0 {
		task = c.owner
		f.place(task, r.Position)
	}
	return task, c.code, err
}

// mention notes that the record at a position speaks of n. Owner counts where n is new.
func (f *fold) mention(ctx context.Context, tx *readdb.Tx, n name, owner, position int64) (code, error) {
	c, err := f.code(ctx, tx, n, owner)
	if err == nil {
		f.place(c.code, position)
	}
	return c, err
}

func (f *fold) place(code, position int64) {
	if !slices.Contains(f.seen, code) {
		f.seen = append(f.seen, code)
		f.list(code, position, position)
	}
}

// code returns the number of a name, which it gets at its first mention.
func (f *fold) code(ctx context.Context, tx *readdb.Tx, n name, owner int64) (code, error) {
	n = n.short()
	if c, ok := f.codes.get(n); ok {
		return c, nil
	}
	var c code
	key, found := []byte(n.value), false
	if !f.whole && f.met.may(n) {
		var err error
		if found, err = tx.One(ctx, `SELECT code, owner FROM hecate_view_audit_names_@ WHERE kind = $1 AND value = $2`, []any{n.kind, key}, &c.code, &c.owner); err != nil {
			return code{}, err
		}
	}
	if !found {
		f.last++
		c = code{f.last, owner}
		f.names.Add(n.kind, key, c.code, c.owner)
		f.met.add(n, f.last, f.whole, f.codes)
	}
	f.codes.put(n, c)
	if n.kind == kindRun {
		f.owners[c.code] = c.owner
	}
	return c, nil
}

// ownerOf returns the task of a run by its code.
func (f *fold) ownerOf(ctx context.Context, tx *readdb.Tx, of int64) (int64, error) {
	if owner, ok := f.owners[of]; ok {
		return owner, nil
	}
	var owner int64
	_, err := tx.One(ctx, `SELECT owner FROM hecate_view_audit_names_@ WHERE code = $1`, []any{of}, &owner)
	return owner, err
}

// Flush writes what is new.
func (f *fold) Flush(ctx context.Context, tx *readdb.Tx) error {
	err := tx.Put(ctx, &f.names)
	for _, flush := range []func(context.Context, *readdb.Tx) error{f.records.flush, f.lists.flush, f.spans.flush} {
		if err == nil {
			err = flush(ctx, tx)
		}
	}
	if err == nil && f.codes.trim() {
		f.whole = false
		clear(f.owners)
		clear(f.workspaces)
	}
	return err
}
