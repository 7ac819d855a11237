// Package audit finds records of the log by what they speak of: who caused them, which
// task and run they belong to, and the tools, files, hosts, approvals and secrets that they name.
//
// The model holds numbers only: each name once, for each name the list of the records
// that speak of it, and for each record what it speaks of. A search goes along the lists
// of the names that are asked for and leaps from the next entry of one to that of another;
// it looks at a bounded number of rows, so that a page costs the same in a log of any
// length. What the records say is read from the log. Nothing goes when a task is deleted:
// that is among what can be asked about.
package audit

import (
	"time"

	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Name is the model's name, for runner.WaitFor and the like.
const Name = "audit"

// version counts changes of the tables or of what a record means in them.
const version = 4

// patience is how far the model may stay behind where nobody waits for it.
const patience = 200 * time.Millisecond

// The kinds of names. Their numbers stand in the tables.
const (
	kindType      int64 = iota + 1 // of an event; a caller's event has the caller's word
	kindActor                      // kind, name and organisation, see actorName
	kindTask                       // its id
	kindRun                        // its id
	kindOperation                  // id of an operation on a workspace
	kindTool                       // its name
	kindPath                       // a file, or a directory with a slash at its end
	kindHost                       // a host, with its port where that is not the usual one
	kindApproval                   // its id
	kindWorkspace                  // a run by its id, which the path of its workspace owns
	kindRoot                       // the path of a workspace; nobody asks for it
	kindSecret                     // of the server, by its name: it was withheld from the record, or a call names it
)

// Model is the read model of what records speak of.
type Model struct{}

// Name returns Name.
func (Model) Name() string { return Name }

// Version returns the version of the code and the tables.
func (Model) Version() int64 { return version }

// Schema makes the tables.
func (Model) Schema() string { return readmodel.Audit }

// Wants reports that every record matters.
func (Model) Wants(string) bool { return true }

// Undecoded says that records are taken as they are, see runner.Undecoded: also those
// of types that only a later build knows can be found.
func (Model) Undecoded() {}

// Patience lets it fall behind for a moment: it has every record, and few are looked for.
func (Model) Patience() time.Duration { return patience }

// NewFold returns a fold that knows nothing yet.
func (Model) NewFold() runner.Fold { return newFold() }

var (
	recordsTable = &readdb.Table{Name: "hecate_view_audit_records_@", Key: 1, Columns: []readdb.Column{{Name: "slot", Type: readdb.Int}, {Name: "data", Type: readdb.Bytes}}}
	namesTable   = &readdb.Table{Name: "hecate_view_audit_names_@", Key: 2, Columns: []readdb.Column{
		{Name: "kind", Type: readdb.Int}, {Name: "value", Type: readdb.Bytes}, {Name: "code", Type: readdb.Int}, {Name: "owner", Type: readdb.Int},
	}}
	placesTable = &readdb.Table{Name: "hecate_view_audit_places_@", Key: 2, Columns: []readdb.Column{
		{Name: "code", Type: readdb.Int}, {Name: "first", Type: readdb.Int}, {Name: "data", Type: readdb.Bytes},
	}}
	spansTable = &readdb.Table{Name: "hecate_view_audit_spans_@", Key: 2, Columns: []readdb.Column{
		{Name: "level", Type: readdb.Int}, {Name: "slot", Type: readdb.Int}, {Name: "first_place", Type: readdb.Int}, {Name: "last_place", Type: readdb.Int},
	}}
)
