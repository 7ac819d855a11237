package tooltest

import (
	"encoding/json"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/tools"
)

// Case is one tool with arguments that it accepts.
type Case struct {
	Tool tools.Tool
	Args map[string]any
	// Paths names the arguments that hold a path.
	Paths []string
	// Links says that a link is looked at itself, so that one which leads out is no way out.
	Links bool
	// Set prepares a workspace for a call with Args, which it may complete: the id of a
	// terminal is only known when it is open. nil: the files that every workspace of the
	// suite has are enough.
	Set func(t *testing.T, w *Workspace, args map[string]any)
	// Touches is what the call is about, all of it, as the permission decision has to know it.
	Touches Touch
	// Changes are the files, relative to the workspace, that a call with Args makes, changes
	// or removes; none for a tool that only looks, whose workspace has to stay as it was.
	Changes []string
	// Mutates are the arguments of a call that would change the workspace where Args do not;
	// nil: there are none. A read-only task refuses it.
	Mutates map[string]any
	// Slow gives the arguments of a call that does not end by itself; nil: there is none.
	Slow func(t *testing.T, w *Workspace) Slow
	// Long gives the arguments of a call that has more to show than a result may hold; nil:
	// the tool has no such results.
	Long func(t *testing.T, w *Workspace) map[string]any
	// Says is the word with which the result owns up to it; "" = truncated.
	Says string
}

// Touch is what a call reaches: as facts name it.
type Touch struct {
	Paths     []string
	Programs  []string // argument lists, joined by blanks
	Principal string   // the URL, command, id or entry that patterns look at
}

// Slow is a call that is cancelled in its middle.
type Slow struct {
	Args  map[string]any
	Begun <-chan struct{} // closed when the call has begun its work
	// Left says what there still is of the call, "" when all is gone; nil: nothing could be.
	Left func() string
}

const (
	// resultMax bounds a result text; the longest legitimate one is an artifact or a file of a MiB with its header.
	resultMax = 1<<20 + 64<<10
	// What is recorded of a call, in bytes. An event of a MiB can't be recorded at
	// all; the largest legitimate one has an escaped text that just does not move out.
	titleMax     = 256
	errorTextMax = 1 << 10
	lineMax      = 8 << 10
	recordMax    = 6*event.InlineMax + 16<<10
	// promptly is how long a cancelled call may take to return, generously.
	promptly = time.Minute
)

// Conformance checks what every tool promises: a schema that says what it takes,
// bad arguments refused in the contract's words, unknown members ignored, facts that
// name all that a call touches, nothing else touched, paths kept inside, read-only
// tasks left as they are, no more work after a cancel, limits that are owned up to, a
// result that can be recorded.
func Conformance(t *testing.T, c Case) {
	t.Run("schema", func(t *testing.T) { checkSchema(t, c) })
	t.Run("arguments", func(t *testing.T) { checkArguments(t, c) })
	t.Run("values", func(t *testing.T) { checkValues(t, c) })
	t.Run("call", func(t *testing.T) { checkCall(t, c) })
	t.Run("facts", func(t *testing.T) { checkFacts(t, c) })
	t.Run("read-only", func(t *testing.T) { checkReadOnly(t, c) })
	t.Run("cancelled before", func(t *testing.T) { checkNotBegun(t, c) })
	if c.Slow != nil {
		t.Run("cancelled in its middle", func(t *testing.T) { checkCancel(t, c) })
	}
	if c.Long != nil {
		t.Run("limit", func(t *testing.T) { checkLimit(t, c) })
	}
	t.Run("size", func(t *testing.T) { checkSize(t, c) })
	for _, name := range c.Paths {
		t.Run("path "+name, func(t *testing.T) { checkPath(t, c, name) })
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
