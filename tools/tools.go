// Package tools says what a tool is: its name and schema for the model, what it
// needs, and the handler that touches the world through Env and nothing else. A
// handler acts and returns what happened; the runtime decides before it and
// records after it. The tools themselves are in tools/builtin, one file each.
package tools

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/secret"
	"hecate/tools/egress"
	"hecate/tools/process"
	"hecate/tools/sandbox"
	"hecate/tools/terminal"
)

// Tool is one tool with its arguments' type erased; New makes it from a typed Spec.
type Tool struct {
	Name    string
	Summary string          // one or two sentences for the model
	Schema  json.RawMessage // JSON Schema of the arguments: an object without additionalProperties
	// Direct tools run the shell, git and file tasks and are never offered to a model.
	Direct bool
	// Prepare reads the arguments. An error is an answer to the model ("invalid
	// arguments for <tool>: …"), nothing has happened yet.
	Prepare func(args json.RawMessage) (Prepared, error)
}

// Prepared is a call whose arguments are understood.
type Prepared struct {
	// Propose is true if the call only proposes a change (file_edit, apply_patch).
	Propose bool
	// Input is what the step shows: paths, patterns and sizes, and the text of a
	// command, but never the contents of a file. Texts are at most 4 KiB, with a note
	// of the full size.
	Input map[string]any
	// Line is the call's line in an approval summary, at most 4 KiB and a note of the
	// full size; Complete is false if details were withheld or did not fit.
	Line     string
	Complete bool
	// Facts are what the call would touch, for the permission decision. It looks at files
	// and changes nothing. It may be nil: then nothing is known of the call.
	Facts func(at Place) permission.Facts
	// Program names what the call starts or acts on where its arguments do not: the
	// program that a terminal was opened with. There is none if it is "". It is not ok if
	// the call can only fail, since what it acts on is not there. It may be nil.
	Program func(at Place) (name string, ok bool)
	// Before returns events that become durable together with the dispatch intent,
	// such as tool.shell.command. It may be nil and has no side effect.
	Before func(env *Env) []event.Payload
	// Run performs the call. It honours ctx at once, and never panics on bad input.
	// Whoever cancels ctx to end the run for good gives ErrRunEnded as the cause, and
	// who does so because the worker has lost the run gives ErrLeaseLost.
	Run func(ctx context.Context, env *Env) Result
}

// Env is all that a handler may touch.
type Env struct {
	Root     *os.Root // the workspace; nothing leads out of it
	RootPath string   // its absolute path, for messages and child processes

	CacheDir string // where wrapped commands may keep caches of build tools; "" for nowhere

	RunID, TaskID, StepID string
	ToolCallID            string
	ToolName              string // as it appears in events

	ReadOnly bool          // sandbox_read_only
	Network  bool          // sandbox_network
	Timeout  time.Duration // per command
	RTK      bool          // the commands of shells are run through rtk, if there is one
	Settings Settings

	// Denied reports whether a deny entry keeps a file back from being looked at; nil: none
	// does. Tools that look through many files ask it about each, by its path below the root.
	Denied func(rel string) bool
	// DeniedURL says which deny entry keeps a redirect of the call from being followed to a
	// URL; nil: none does.
	DeniedURL egress.Denied

	// Emit hands over an event that happened while the call runs (output chunks),
	// in order. It may block. The event belongs to the runtime from then on, which
	// records it also if it returns an error: nobody may hand it over again, neither
	// here nor in Result.Facts. An error means only that the handler should stop.
	Emit func(ctx context.Context, p event.Payload) error
	// Artifact finds an artifact of the same task by id.
	Artifact func(ctx context.Context, id string) (Artifact, bool, error)
	// Terminals are those of the run; nil: none can be opened.
	Terminals *terminal.Run
	// Opened reports whether the run has opened a terminal of that id, here or in another
	// worker; nil: not known.
	Opened func(terminalID string) bool
	// Withheld is told the names of secrets that were withheld from what the call returns or
	// hands over, where that was still whole. It may be called at any time until Run returns;
	// nil: nobody wants to know.
	Withheld func(names []string)
	// EditConfig makes one change of a permission file and returns the file's path; nil:
	// nobody is attached who could have said yes to it.
	EditConfig func(ctx context.Context, c permission.Change) (file string, err error)
}

// Settings are the limits of tools: those of the server (HECATE_TASK_*), and the time
// for which the worker may act.
type Settings struct {
	OutputMaxBytes       int64    // stdout and stderr of one command together; 0 = no cap
	ShellAllowPrivateIPs bool     // URLs in commands when the task has network
	ShellAllowedHosts    []string // exact hosts; empty = all public ones
	HTTP                 egress.Settings
	Wrapper              sandbox.Wrapper // what the operating system holds commands to
	Confined             bool            // commands that it does not hold to what they may do are refused
	RTKPath              string          // of rtk, which shortens what commands print; "" if there is none
	Hidden               []string        // directories that a wrapped command finds empty, such as the server's data
	// Secrets are withheld from what comes in pieces. From all else that a tool returns they
	// are withheld as it is recorded. nil holds none.
	Secrets *secret.Set
	// Lease ends what runs under it when it is over, and nothing is begun or changed
	// after it. nil never ends.
	Lease *process.Lease
}

// Artifact is what artifact_read shows.
type Artifact struct {
	ID, Kind, Name, Status, Path, MIMEType string
	Content                                string
}

// Result is what came of a call.
type Result struct {
	Text      string // the tool message, exactly
	Error     bool   // the message is an error to the model; the run goes on
	Outcome   run.Outcome
	Title     string         // of the settled step
	Input     map[string]any // added to the step's input
	Output    map[string]any // the step's output_summary
	ErrorText string         // the step's error
	ErrorKind string
	ExitCode  int64
	// Facts are recorded in this order, before the settlement and together with it.
	Facts []event.Payload
}

// Spec declares a tool with typed arguments.
type Spec[In any] struct {
	Name    string
	Summary string
	Direct  bool
	// Input, Line, Facts, Program and Before may be nil; see Prepared. What Input and Line return,
	// and title, error, Input and Output of the result, may be of any length: New
	// sees to it that they can be recorded. For events it can't.
	Check   func(in *In) error // beyond the schema; may fill defaults
	Propose func(in In) bool
	Input   func(in In) map[string]any
	Line    func(in In) (line string, complete bool)
	Facts   func(at Place, in In) permission.Facts
	Program func(at Place, in In) (name string, ok bool)
	Before  func(env *Env, in In) []event.Payload
	Handle  func(ctx context.Context, env *Env, in In) Result
}
