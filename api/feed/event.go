// Package feed is the log as its public readers see it: one envelope per event of a
// run, in the order of the log, with the texts that events only refer to put back.
//
// A Reader answers lists, a Hub follows the log once for all open streams. Both
// show the same bytes for the same event.
package feed

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hecate/api/request"
	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/eventstore"
	"hecate/projections"
)

// SchemaVersion is the version of the public envelope.
const SchemaVersion = "1"

// Event is the public envelope of one event.
type Event struct {
	SchemaVersion string          `json:"schema_version" doc:"Version of this envelope." enum:"1"`
	EventID       string          `json:"event_id" doc:"Identifies the event; stays the same whenever it is read." example:"evt_01KAVD4S2W7QF3ZB5M8T9XNC6H"`
	TaskID        string          `json:"task_id,omitempty" doc:"The task of the run."`
	RunID         string          `json:"run_id" doc:"The run that the event is about."`
	SessionID     string          `json:"session_id,omitempty" doc:"Reserved for chat sessions."`
	Sequence      int64           `json:"sequence" doc:"Place in the order of all events of the server; strictly increasing, with gaps. It is the cursor of lists and streams." example:"128"`
	OccurredAt    string          `json:"occurred_at" format:"date-time" doc:"When it was recorded."`
	Type          string          `json:"type" doc:"What happened, such as run.started. Accept types that you don't know." example:"run.started"`
	Data          json.RawMessage `json:"data" doc:"What is known about it, depending on the type. Accept members that you don't know."`

	SecretsWithheld []string `json:"secrets_withheld,omitempty" doc:"The names of secrets of the server that stood in it, and were recorded nowhere: [secret NAME] stands in their place." example:"[\"OPENAI_API_KEY\"]"`

	Actor     *Actor `json:"actor,omitempty" doc:"Who caused it."`
	CausedBy  int64  `json:"caused_by,omitempty" doc:"Sequence of the newest event that it was decided on; absent if it follows from none." example:"121"`
	CommandID string `json:"command_id,omitempty" doc:"The command that it belongs to, if the client had named its request; all events of one command have the same."`
	TraceID   string `json:"trace_id,omitempty" doc:"The trace of the request that caused it, 32 hexadecimal digits." example:"4bf92f3577b34da6a3ce929d0e0e4736"`
	Hash      string `json:"hash,omitempty" doc:"SHA-256 over the record as it stands in the log, in hexadecimal digits."`
	ErasedBy  int64  `json:"erased_by,omitempty" doc:"Sequence of the log.erased event that says by which rule and whom its content was erased; absent if it was not."`
}

// Actor is who caused an event.
type Actor struct {
	Kind string `json:"kind" doc:"operator, client, worker, schedule or system. Accept kinds that you don't know." example:"operator"`
	Name string `json:"name,omitempty" doc:"Which one: an operator's name, runtime-token for whoever has that, a node's id; of a client what it said." example:"ada"`
	Org  string `json:"org,omitempty" doc:"The organisation, where the server knows of several."`
	// Whoever reaches the API either proves its name or claims it. The server's own parts do neither.
	Verified *bool `json:"verified,omitempty" doc:"true: a token proved it, for the name runtime-token the one that all clients share. false: nothing did. Absent for what the server does by itself."`
}

// Item is an event with its bytes, encoded once for all who get it.
type Item struct {
	Sequence int64
	TaskID   string
	RunID    string
	Type     string

	record eventstore.Record
	frame  []byte // the whole frame of the cross-run stream
	json   []byte // the envelope within frame
	hidden atomic.Bool
}

// size is about how many bytes of memory the item holds.
func (i *Item) size() int { return len(i.frame) + len(i.record.Data) }

// JSON is the public envelope. Nobody may change it.
func (i *Item) JSON() []byte { return i.json }

// Frame is the event as a frame of the cross-run stream. Nobody may change it.
func (i *Item) Frame() []byte { return i.frame }

// Hidden reports whether the event's task was deleted meanwhile.
func (i *Item) Hidden() bool { return i.hidden.Load() }

// MarshalJSON writes the public envelope.
func (i *Item) MarshalJSON() ([]byte, error) { return i.json, nil }

// Schema describes an item as what it looks like.
func (*Item) Schema(r huma.Registry) *huma.Schema {
	ref := r.Schema(reflect.TypeFor[Event](), true, "Event")
	s := r.SchemaFromRef(ref.Ref)
	s.Properties["data"].Type = huma.TypeObject // what stands in the log is an object
	s.Properties["data"].AdditionalProperties = true
	return ref
}

// newItem encodes the event of a record.
func newItem(r *eventstore.Record, taskID, runID, typ string, data json.RawMessage) (*Item, error) {
	_, withheld := event.SplitWithheld(r.Data)
	body, err := marshal(Event{
		SchemaVersion: SchemaVersion, EventID: ident.PublicEvent(r.ID), TaskID: taskID, RunID: runID,
		Sequence: r.Position, OccurredAt: formatTime(r.At), Type: typ, Data: data, SecretsWithheld: withheld,
		Actor: actorOf(r.Actor), CausedBy: r.CausedBy, CommandID: r.CommandID, TraceID: request.TraceOf(r.Trace), Hash: hex.EncodeToString(r.Hash[:]), ErasedBy: r.Erased,
	})
	if err != nil {
		return nil, err
	}
	const head, middle, tail = "id: ", "\nevent: event\ndata: {\"object\":\"event\",\"data\":", "}\n\n"
	frame := make([]byte, 0, len(body)+len(head)+len(middle)+len(tail)+20)
	frame = append(frame, head...)
	frame = strconv.AppendInt(frame, r.Position, 10)
	frame = append(frame, middle...)
	from := len(frame)
	frame = append(frame, body...)
	to := len(frame)
	frame = append(frame, tail...)
	return &Item{Sequence: r.Position, TaskID: taskID, RunID: runID, Type: typ, record: *r, frame: frame, json: frame[from:to:to]}, nil
}

// actorOf says who caused a record, nil if the log does not say.
func actorOf(a eventstore.Actor) *Actor {
	if a == (eventstore.Actor{}) {
		return nil
	}
	out := &Actor{Kind: a.Kind, Name: a.Name, Org: a.Org}
	if a.Kind == request.KindOperator || a.Kind == request.KindClient {
		proved := a.Kind == request.KindOperator
		out.Verified = &proved
	}
	return out
}

func formatTime(t time.Time) string { return projections.FormatTime(t) }

// runOf returns the run that a stream is about; ok is false for streams that are
// not in the public feed.
func runOf(stream string) (runID string, ok bool) {
	for _, prefix := range []string{"run-", "external-"} {
		if id, ok := strings.CutPrefix(stream, prefix); ok {
			return id, true
		}
	}
	return "", false
}
