package audit

import (
	"crypto/sha256"
	"encoding/json"
	"path"
	"strings"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/run"
	"hecate/eventstore"
)

// name is something that records speak of.
type name struct {
	kind  int64
	value string
}

// mentions are the members of events' data that name something. Types that come later
// are found by the same members.
type mentions struct {
	TaskID     string    `json:"task_id"`
	TaskIDs    []string  `json:"task_ids"`
	RunID      string    `json:"run_id"`
	Type       string    `json:"type"` // of a caller's event
	ToolName   string    `json:"tool_name"`
	ApprovalID string    `json:"approval_id"`
	Path       string    `json:"path"`
	File       string    `json:"file"`
	Target     string    `json:"target"`
	Files      []located `json:"files"`
	Input      located   `json:"input"`
	Output     located   `json:"output"`
	Change     change    `json:"change"`
	Workspace  string    `json:"workspace_path"`
	Calls      []call    `json:"calls"`
	Secrets    []string  `json:"secrets_named"`
}

// located is what a call works on.
type located struct {
	Path string `json:"path"`
	URL  string `json:"url"`
}

// change is an entry of a permission file.
type change struct {
	List string `json:"list"`
	Text string `json:"text"`
}

// call is a call that a person is asked about, or has answered.
type call struct {
	ToolName string `json:"tool_name"`
	Offer    scope  `json:"offer"`
	Grant    scope  `json:"grant"`
}

type scope struct {
	Scope string `json:"scope"`
	Host  bool   `json:"host"`
}

// silent are the types that name nothing and may be long.
var silent = types(
	run.ConversationSeeded{}, run.ConversationInherited{}, run.ModelCallStarted{}, run.ModelCallRetrying{}, run.ModelCallCompleted{},
	run.ModelCallFailed{}, run.ModelCallAbandoned{}, run.ModelResponseRecorded{}, run.AssistantText{}, run.AssistantThinking{}, run.FinalAnswer{},
	run.Queued{}, run.Claimed{}, run.AwaitingApproval{}, run.Disconnected{}, run.Warned{}, run.Finished{}, run.Failed{}, run.Cancelled{}, run.TaskUpdated{},
	run.ShellOutput{}, run.ShellExited{},
)

var (
	externalEvent = run.ExternalEvent{}.EventType()
	artifactType  = run.ArtifactRecorded{}.EventType() // its path is the name of an artifact
)

func types(payloads ...event.Payload) map[string]bool {
	out := map[string]bool{}
	for _, p := range payloads {
		out[p.EventType()] = true
	}
	return out
}

// mentionsOf reads what a record names. Members that are not what they should be are
// passed over: what cannot be read here can still be found by its stream.
func mentionsOf(r *eventstore.Record) mentions {
	var m mentions
	if !silent[r.Type] {
		_ = json.Unmarshal(r.Data, &m)
	}
	return m
}

// names lists what the record speaks of besides its type, actor, task and run, at most
// mentionsMax. Some may come twice. What a caller says in an event of its own is no
// account of what happened here. Files in the workspace are found by their place in it, too.
func (m *mentions) names(r *eventstore.Record, workspace string) []name {
	out := list{workspace: workspace}
	_, secrets := event.SplitWithheld(r.Data) // of any type: it is what the log says of the record
	for _, s := range secrets {
		out.add(kindSecret, s)
	}
	if r.Type == externalEvent {
		return out.names
	}
	for _, s := range m.Secrets {
		out.add(kindSecret, s)
	}
	for _, id := range m.TaskIDs {
		out.add(kindTask, id)
	}
	out.add(kindTool, m.ToolName)
	out.add(kindApproval, m.ApprovalID)
	if r.Type != artifactType {
		out.path(m.Path)
	}
	if path.IsAbs(m.File) {
		out.path(m.File)
	}
	out.path(m.Target)
	for _, f := range append(m.Files, m.Input, m.Output) {
		out.path(f.Path)
		out.url(f.URL)
	}
	if m.Change.List == permission.ListHostDeny || m.Change.List == permission.ListHostAllow || m.Change.List == permission.ListHostPromoted {
		out.host(m.Change.Text)
	}
	for _, c := range m.Calls {
		out.add(kindTool, c.ToolName)
		for _, s := range []scope{c.Offer, c.Grant} {
			if s.Host {
				out.host(s.Scope)
			}
		}
	}
	return out.names
}

// list collects names.
type list struct {
	names     []name
	workspace string // "" where it is not known
}

// mentionsMax bounds what one record is found by: a record that names more is found by
// the first of them.
const mentionsMax = 1024

func (l *list) add(kind int64, value string) {
	if value != "" && value != event.ErasedMark && len(l.names) < mentionsMax {
		l.names = append(l.names, name{kind, value})
	}
}

// path adds a file and the directories above it.
func (l *list) path(p string) {
	if p == "" || p == event.ErasedMark {
		return
	}
	p = path.Clean(p)
	if p == "." {
		return
	}
	if inside, ok := strings.CutPrefix(p, l.workspace+"/"); ok && l.workspace != "" {
		l.above(inside)
	}
	l.above(p)
}

func (l *list) above(p string) {
	l.add(kindPath, p)
	above := 0
	for i := range len(p) {
		if p[i] == '/' && above < aboveMax {
			l.add(kindPath, p[:i+1])
			above++
		}
	}
}

// aboveMax bounds the directories of one path that can be asked for.
const aboveMax = 40

func (l *list) url(text string) {
	if text == "" || text == event.ErasedMark {
		return
	}
	u, err := host.ParseURL(text, "")
	switch {
	case err != nil:
	case u.Host.IsZero():
		l.add(kindHost, strings.ToLower(u.Shown))
	default:
		l.hosted(u.Host)
	}
}

func (l *list) host(text string) {
	if text == event.ErasedMark {
		return
	}
	if h, err := host.Parse(text); err == nil {
		l.hosted(h)
	}
}

// hosted adds a host as it can be asked for: with its port, and whatever the port.
func (l *list) hosted(h host.Host) {
	l.add(kindHost, h.Name)
	if h.Port != 0 {
		l.add(kindHost, h.String())
	}
}

// actorName is an actor as the table knows it, with its kind first. The log takes no
// actor with the separator in it.
func actorName(a eventstore.Actor) string {
	return strings.Join([]string{a.Kind, a.Name, a.Org}, actorSeparator)
}

const actorSeparator = "\x00"

// valueMax bounds a name in the tables, in bytes: what an index takes.
const valueMax = 1024

// short is n as it stands in the tables. Of a longer name the end gives way to a digest.
func (n name) short() name {
	if len(n.value) > valueMax {
		sum := sha256.Sum256([]byte(n.value))
		n.value = n.value[:valueMax-len(sum)] + string(sum[:])
	}
	return n
}
