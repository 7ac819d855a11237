package builtin_test

import (
	"context"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/secret"
	"hecate/tools/terminal"
	"hecate/tools/tooltest"
)

const apiKey = "sk-planted-8sJ2kQ7wL5xT3v"

func withSecret(t *testing.T) *tooltest.Workspace {
	t.Helper()
	w := tooltest.New(t)
	w.Env.Settings.Secrets = &secret.Set{}
	if !w.Env.Settings.Secrets.Add("OPENAI_API_KEY", apiKey) {
		t.Fatal("not held")
	}
	return w
}

// A command writes a secret in two pieces, and waits until all that can be told of the first
// one was recorded: the pieces hold no part of it, follow each other, and count what they hold.
func TestOutputInPiecesHoldsNoSecret(t *testing.T) {
	w := withSecret(t)
	emit := w.Env.Emit
	w.Env.Emit = func(ctx context.Context, p event.Payload) error {
		if strings.Contains(p.(run.ShellOutput).Data.String(), "before") {
			defer w.Write("seen", "")
		}
		return emit(ctx, p)
	}
	var told []string
	w.Env.Withheld = func(names []string) { told = names }
	r := w.Call(tool(t, "shell_exec"), args{
		"command": "printf 'before " + apiKey[:13] + "'; until [ -e seen ]; do sleep 0.01; done; printf '" + apiKey[13:] + " after'; printf " + apiKey[:5] + " >&2",
	})
	out := map[string]string{}
	for _, p := range append(w.Emitted(), r.Facts...) {
		if c, ok := p.(run.ShellOutput); ok {
			if c.ByteOffset != int64(len(out[c.Stream])) {
				t.Errorf("%s: a piece at %d after %d bytes", c.Stream, c.ByteOffset, len(out[c.Stream]))
			}
			out[c.Stream] += c.Data.String()
		}
	}
	want := "before [secret OPENAI_API_KEY] after"
	if out["stdout"] != want || out["stderr"] != apiKey[:5] || !strings.Contains(r.Text, want) || len(w.Emitted()) == 0 {
		t.Errorf("%q, %s", out, r.Text)
	}
	if len(told) != 1 || told[0] != "OPENAI_API_KEY" {
		t.Errorf("it tells of %q", told)
	}
	exited := r.Facts[len(r.Facts)-2].(run.ShellExited)
	if exited.StdoutBytes != int64(len(want)) || exited.StderrBytes != 5 {
		t.Errorf("%+v", exited)
	}
}

// What is shown is cut behind what is withheld: no part of a secret stands at the cut.
func TestASecretAtACut(t *testing.T) {
	w := withSecret(t)
	w.Write("f", strings.Repeat("x", 3990)+apiKey+strings.Repeat("y", 5000))
	r := w.Call(tool(t, "shell_exec"), args{"command": "cat f"})
	if r.Error || strings.Contains(r.Text, "sk-pl") {
		t.Errorf("%q", r.Text)
	}
}

func TestATerminalShowsNoSecret(t *testing.T) {
	w := withSecret(t)
	registry := terminal.NewRegistry()
	t.Cleanup(registry.Shut)
	w.Env.Terminals = registry.Of(w.Env.RunID)
	var told []string
	w.Env.Withheld = func(names []string) { told = names }
	opened := w.Call(tool(t, "terminal_open"), args{"command": "sh", "args": []string{"-c", "printf 'key: " + apiKey[:9] + "'; read _; printf '" + apiKey[9:] + "'; read _; printf s"}})
	id, _ := opened.Output["terminal_id"].(string)
	for range 2 {
		w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": "\n"})
	}
	w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000})
	var shown []string
	for _, most := range []int{65536, 30, 20, 3} {
		r := w.Call(tool(t, "terminal_read"), args{"terminal_id": id, "max_bytes": most})
		_, text, _ := strings.Cut(r.Text, "--- output ---\n")
		shown = append(shown, text)
	}
	if shown[0] != "key: [secret OPENAI_API_KEY]s" || len(told) != 1 {
		t.Errorf("%q, %q", shown, told)
	}
	for _, text := range shown {
		if strings.Contains(apiKey, strings.TrimSuffix(text, "s")) {
			t.Errorf("%q is part of the secret", text)
		}
	}
}
