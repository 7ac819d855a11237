package tooltest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

// begin makes a workspace with a few files in which the call has something to do.
func begin(t *testing.T, c Case, args map[string]any) (*Workspace, map[string]any) {
	w := New(t)
	w.Write("f", "a\nb\n")
	w.Write("sub/g", "g\n")
	args = maps.Clone(args)
	if c.Set != nil {
		c.Set(t, w, args)
	}
	return w, args
}

// checkCall makes the call: it changes what the case says and nothing else.
func checkCall(t *testing.T, c Case) {
	w, args := begin(t, c, c.Args)
	before := tree(t, w.Dir)
	r := w.Call(c.Tool, args)
	checkResult(t, r)
	if changed := changes(before, tree(t, w.Dir)); !slices.Equal(changed, c.Changes) {
		t.Errorf("the call changes %q, want %q: %s", changed, c.Changes, r.Text)
	}
	if len(c.Changes) > 0 && r.Error {
		t.Errorf("it is not carried out: %s", r.Text)
	}
}

func checkResult(t *testing.T, r tools.Result) {
	t.Helper()
	if r.Text == "" || !utf8.ValidString(r.Text) || len(r.Text) > resultMax {
		t.Errorf("the text is %d bytes, %.200q", len(r.Text), r.Text)
	}
	if r.Title == "" || len(r.Title) > titleMax || !utf8.ValidString(r.Title) {
		t.Errorf("the title is %d bytes, %.200q", len(r.Title), r.Title)
	}
	if len(r.ErrorText) > errorTextMax || !utf8.ValidString(r.ErrorText) {
		t.Errorf("the error is %d bytes, %.200q", len(r.ErrorText), r.ErrorText)
	}
	if in, out := len(encode(t, r.Input)), len(encode(t, r.Output)); in > recordMax || out > recordMax {
		t.Errorf("the step has an input of %d bytes and an output of %d", in, out)
	}
	switch r.Outcome {
	case run.OutcomeCompleted:
		if r.Error || r.ErrorText != "" || r.ErrorKind != "" {
			t.Errorf("completed, with an error: %+v", r)
		}
	case run.OutcomeFailed, run.OutcomeCancelled:
		if !r.Error || r.ErrorText == "" || r.ErrorKind == "" {
			t.Errorf("%s, without an error: %+v", r.Outcome, r)
		}
	default:
		t.Errorf("the outcome is %q", r.Outcome)
	}
}

// checkFacts compares what the tool says that the call is about with what the case says,
// and with what the call has changed.
func checkFacts(t *testing.T, c Case) {
	w, args := begin(t, c, c.Args)
	p, err := c.Tool.Prepare(encode(t, args))
	if err != nil {
		t.Fatal(err)
	}
	var f permission.Facts
	if p.Facts != nil {
		before := tree(t, w.Dir)
		f = p.Facts(tools.Place{Root: w.Env.Root, Path: w.Dir, Terminals: w.Env.Terminals, Offline: true})
		unchanged(t, w, before)
		_ = p.Facts(tools.Place{}) // nothing is known of the place
	}
	var got Touch
	var leads []string
	for _, x := range f.Paths {
		got.Paths, leads = append(got.Paths, x.Name), append(leads, x.Resolved)
	}
	for _, x := range f.Programs {
		got.Programs = append(got.Programs, strings.Join(x.Argv, " "))
	}
	got.Principal = f.Principal
	if want := c.Touches; !slices.Equal(got.Paths, want.Paths) || !slices.Equal(got.Programs, want.Programs) || (got.Principal != want.Principal && want.Principal != Any) {
		t.Errorf("the facts are about %+v, want %+v", got, want)
	}
	for _, name := range c.Changes {
		if !slices.ContainsFunc(leads, func(lead string) bool { return lead == name || strings.HasPrefix(lead, name+"/") }) {
			t.Errorf("the call changes %q, of which its facts %q know nothing", name, leads)
		}
	}
	if slices.Contains(c.Paths, "working_directory") && f.Dir != "" {
		t.Errorf("the facts say that it begins in %q, not in the workspace", f.Dir)
	}
}

// Any stands for a principal that is only known when the call is made.
const Any = "*"

// checkReadOnly makes a call that changes something where nothing may be changed: the
// decision refuses it, and so does the tool, should it be asked all the same.
func checkReadOnly(t *testing.T, c Case) {
	args := c.Mutates
	switch {
	case args == nil && len(c.Changes) == 0:
		return
	case args == nil:
		args = c.Args
	}
	w, args := begin(t, c, args)
	before := tree(t, w.Dir)
	w.Env.ReadOnly = true
	r := w.Call(c.Tool, args)
	if !r.Error || r.ErrorKind != tools.KindPolicy {
		t.Errorf("in a read-only task: %+v", r)
	}
	unchanged(t, w, before)
	posture := permission.Posture{ReadOnly: true}
	v := permission.Decide(permission.Call{Tool: c.Tool.Name}, posture)
	if v.Decision != permission.Deny && !c.Tool.Direct { // whose task is refused or held by the tool itself
		t.Errorf("the decision is %+v", v)
	}
	w.Env.ReadOnly = false
	r = w.Call(c.Tool, args)
	for end := time.Now().Add(promptly); len(changes(before, tree(t, w.Dir))) == 0; time.Sleep(time.Millisecond) {
		if r.Error || time.Now().After(end) { // what goes on after its call may need a moment
			t.Fatalf("in another task it changes nothing: %+v", r)
		}
	}
}

// checkNotBegun calls the tool with a context that is over, because the run was ended
// or lost or because the server stops, or under a lease that is over: it may do nothing.
func checkNotBegun(t *testing.T, c Case) {
	w, args := begin(t, c, c.Args)
	before := tree(t, w.Dir)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	checkNotRun(t, w.CallContext(stopped, c.Tool, args), tools.KindInterrupted)
	lost, lose := context.WithCancelCause(t.Context())
	lose(tools.ErrLeaseLost)
	checkNotRun(t, w.CallContext(lost, c.Tool, args), tools.KindLeaseLost)
	w.Env.Settings.Lease = process.NewLease()
	w.Env.Settings.Lease.End()
	checkNotRun(t, w.Call(c.Tool, args), tools.KindLeaseLost)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tools.ErrRunEnded)
	begun := time.Now()
	r := w.CallContext(ctx, c.Tool, args)
	checkCancelled(t, r, time.Since(begun))
	if len(r.Facts) > 0 {
		t.Errorf("got %d facts", len(r.Facts))
	}
	unchanged(t, w, before)
}

func checkNotRun(t *testing.T, r tools.Result, kind string) {
	t.Helper()
	checkResult(t, r)
	if r.Outcome != run.OutcomeFailed || r.ErrorKind != kind || len(r.Facts) > 0 {
		t.Errorf("got %s, %s with %d facts, want failed, %s", r.Outcome, r.ErrorKind, len(r.Facts), kind)
	}
}

func checkCancelled(t *testing.T, r tools.Result, took time.Duration) {
	t.Helper()
	checkResult(t, r)
	if r.Outcome != run.OutcomeCancelled || r.ErrorKind != tools.KindCancelled {
		t.Errorf("got %s, %s", r.Outcome, r.ErrorKind)
	}
	if took > promptly {
		t.Errorf("took %v", took)
	}
}

// checkCancel ends the run while the call is at work: it returns soon, and nothing of it
// is left.
func checkCancel(t *testing.T, c Case) {
	w, _ := begin(t, c, c.Args)
	slow := c.Slow(t, w)
	before := tree(t, w.Dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan time.Time, 1)
	go func() {
		<-slow.Begun
		ended <- time.Now()
		cancel(tools.ErrRunEnded)
	}()
	r := w.CallContext(ctx, c.Tool, slow.Args)
	select {
	case at := <-ended:
		checkCancelled(t, r, time.Since(at))
	default:
		t.Fatalf("the call ended before it was cancelled: %+v", r)
	}
	if slow.Left != nil {
		if left := slow.Left(); left != "" {
			t.Errorf("there is left %s", left)
		}
	}
	unchanged(t, w, before)
}

// checkLimit makes a call that has too much to show.
func checkLimit(t *testing.T, c Case) {
	w, _ := begin(t, c, c.Args)
	r := w.Call(c.Tool, c.Long(t, w))
	checkResult(t, r)
	says := c.Says
	if says == "" {
		says = "truncated"
	}
	if !strings.Contains(r.Text, says) {
		t.Errorf("a result of %d bytes does not say %q: %.300s", len(r.Text), says, r.Text)
	}
}

// checkSize gives the tool long arguments, each in turn: what is
// recorded of the call, beside texts, must not grow with them.
func checkSize(t *testing.T, c Case) {
	for name, v := range c.Args {
		if _, ok := v.(string); !ok {
			continue
		}
		for _, long := range []string{strings.Repeat("é/", 25_000), strings.Repeat("\x01", 25_000)} {
			args := maps.Clone(c.Args)
			args[name] = long
			p, err := c.Tool.Prepare(encode(t, args))
			if err != nil {
				continue // refused, and nothing of it is recorded but a text
			}
			w := New(t)
			w.Env.ToolName = c.Tool.Name
			if len(p.Line) > lineMax || len(encode(t, p.Input)) > recordMax {
				t.Errorf("%s: an approval line of %d bytes, an input of %d", name, len(p.Line), len(encode(t, p.Input)))
			}
			if p.Before != nil {
				checkEvents(t, name, p.Before(w.Env))
			}
			r := p.Run(t.Context(), w.Env)
			checkResult(t, r)
			checkEvents(t, name, append(w.Emitted(), r.Facts...))
		}
	}
}

func checkEvents(t *testing.T, name string, payloads []event.Payload) {
	t.Helper()
	for _, p := range payloads {
		e, err := event.Encode(p, func() [16]byte { return [16]byte{} })
		if err != nil || len(e.Data) > recordMax {
			t.Errorf("%s: %s with %d bytes: %v", name, p.EventType(), len(e.Data), err)
		}
	}
}

// checkPath gives the tool paths that lead out of the workspace.
func checkPath(t *testing.T, c Case, name string) {
	w := New(t)
	outside := filepath.Join(filepath.Dir(w.Dir), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOP SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Link(outside, "out")
	w.Link("../outside/secret", "secret")
	w.Link("../outside/new", "dangling")
	w.Link("out", "twice")
	before := tree(t, outside)
	for _, path := range []string{
		"..", "../outside", "../outside/secret", "sub/../../outside/secret", outside, outside + "/secret", "out", "out/secret", "out/new",
		"secret", "dangling", "twice/secret", "/etc/passwd", "C:\\x", "\\\\host\\share", "a\x00b", "..\x00", "out/../out/secret",
	} {
		args := maps.Clone(c.Args)
		args[name] = path
		r := w.Call(c.Tool, args)
		checkResult(t, r)
		if !r.Error && !(c.Links && slices.Contains([]string{"out", "secret", "dangling"}, path)) {
			t.Errorf("%q was accepted: %.200s", path, r.Text)
		}
		if strings.Contains(r.Text, "TOP SECRET") {
			t.Errorf("%q shows the secret", path)
		}
		if changed := changes(before, tree(t, outside)); len(changed) > 0 {
			t.Fatalf("%q changed %q, which is outside", path, changed)
		}
	}
}
