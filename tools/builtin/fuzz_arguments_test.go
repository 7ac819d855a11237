package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// FuzzCallArguments gives every tool texts that may be arguments. Whatever they are, they
// are refused with a text, or are a call that can be shown, decided on and recorded.
// Nothing is run. What the golden files hold is where it begins.
func FuzzCallArguments(f *testing.F) {
	all := append(catalogue(), builtin.Direct()...)
	files, err := filepath.Glob("testdata/calls/*.txt")
	if err != nil || len(files) < len(all) {
		f.Fatalf("%d files of calls, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line[0] == '{' {
				f.Add(strings.TrimSuffix(filepath.Base(file), ".txt"), []byte(strings.TrimSpace(line)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, name string, arguments []byte) {
		i := slices.IndexFunc(all, func(x tools.Tool) bool { return x.Name == name })
		if i < 0 {
			return
		}
		p, err := all[i].Prepare(arguments)
		if err != nil {
			if !utf8.ValidString(err.Error()) || err.Error() == "" {
				t.Errorf("refused with %q", err)
			}
			return
		}
		if !utf8.Valid(arguments) {
			t.Errorf("accepted: %q", arguments)
		}
		if len(p.Line) > 8<<10 || !utf8.ValidString(p.Line) || !strings.HasPrefix(p.Line, name) || strings.ContainsFunc(p.Line, unicode.IsControl) {
			t.Errorf("shown as %q", p.Line)
		}
		if _, err := json.Marshal(p.Input); err != nil {
			t.Error(err)
		}
		if p.Facts == nil {
			t.Fatal("nothing is known of the call")
		}
		w := tooltest.New(t)
		p.Facts(tools.Place{})
		facts := p.Facts(tools.Place{Root: w.Env.Root, Path: w.Dir, Offline: true})
		if _, err := json.Marshal(facts); err != nil {
			t.Error(err)
		}
		if p.Before != nil {
			p.Before(w.Env)
		}
	})
}
