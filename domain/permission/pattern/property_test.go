package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/permission/command"
	"hecate/domain/permission/pattern"
)

var texts = rapid.StringMatching(`[a-c*/. )(\n-]{0,8}`)

// patterns are texts that often parse.
var patterns = rapid.Custom(func(t *rapid.T) string {
	tool := rapid.SampledFrom(append(pattern.Names(), "shell_exec", "file_edit", "mcp__a__b")).Draw(t, "tool")
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0:
		return tool
	case 1:
		return "exec(" + texts.Draw(t, "program") + ") args(" + texts.Draw(t, "args") + ")"
	case 2:
		return "exec(" + texts.Draw(t, "program") + ")"
	}
	return tool + "(" + texts.Draw(t, "glob") + ")"
})

var calls = rapid.Custom(func(t *rapid.T) pattern.Facts {
	f := pattern.Facts{
		Principal: texts.Draw(t, "principal"), Argv: rapid.SliceOfN(texts, 0, 4).Draw(t, "argv"),
		FoldCase: rapid.Bool().Draw(t, "fold"), Opaque: rapid.Bool().Draw(t, "opaque"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "paths") {
		f.Paths = append(f.Paths, pattern.Path{Name: texts.Draw(t, "name"), Resolved: texts.Draw(t, "resolved")})
	}
	return f
})

var tools = rapid.Custom(func(t *rapid.T) string {
	return rapid.SampledFrom(append(pattern.Names(), "shell_exec", "file_write", "mcp__a__b", "nonsense")).Draw(t, "called")
})

func TestPrintedPatternsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := pattern.Parse(patterns.Draw(t, "pattern"))
		if err != nil {
			return
		}
		if again, err := pattern.Parse(p.String()); err != nil || again != p {
			t.Fatalf("%q is read back as %q, %v", p, again, err)
		}
	})
}

// What is covered when it approves is reached when it denies.
func TestDenyReachesFurther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := pattern.Parse(patterns.Draw(t, "pattern"))
		if err != nil {
			return
		}
		tool, f := tools.Draw(t, "tool"), calls.Draw(t, "facts")
		if p.Covers(tool, f) && !p.Reaches(tool, f) {
			t.Fatalf("%s covers %s %+v and does not reach it", p, tool, f)
		}
	})
}

func TestOffersCoverTheirCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool, f := tools.Draw(t, "tool"), calls.Draw(t, "facts")
		p, ok := pattern.Offer(tool, f)
		if !ok {
			return
		}
		if again, err := pattern.Parse(p.String()); err != nil || again != p || !p.Covers(tool, f) {
			t.Fatalf("%s %+v: the offer %q is no use (%v)", tool, f, p, err)
		}
		if _, err := p.ForApprove(); err != nil {
			t.Fatalf("%s %+v: the offer %q would be refused: %v", tool, f, p, err)
		}
		if p.Meaning() == "" || p.Meaning() == "nothing" {
			t.Fatalf("%s says nothing", p)
		}
	})
}

// The globs mean what a regular expression says they do.
func TestGlobs(t *testing.T) {
	star := func(glob, one string) *regexp.Regexp {
		var parts []string
		for _, s := range strings.Split(glob, "*") {
			parts = append(parts, regexp.QuoteMeta(s))
		}
		return regexp.MustCompile(`\A(?s:` + strings.Join(parts, one) + `)\z`)
	}
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab* ]{1,6}`).Draw(t, "glob")
		args := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}`), 1, 3).Draw(t, "args")
		joined := strings.Join(args, "\x00")
		want := star(strings.ReplaceAll(glob, " ", "\x00"), ".*").MatchString(joined)
		if head, ok := strings.CutSuffix(glob, " *"); ok && head != "" {
			want = want || star(strings.ReplaceAll(head, " ", "\x00"), ".*").MatchString(joined)
		}
		p, err := pattern.Parse("exec(x) args(" + glob + ")")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers("exec", pattern.Facts{Argv: append([]string{"x"}, args...)}); got != want {
			t.Fatalf("%q on %q: %t", glob, args, got)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[ab]{0,2}(\*|\*\*/|/)?[ab]{0,2}(\*\*|/\*\*/|/)?[ab]{0,2}\*?`).Draw(t, "glob")
		name := rapid.StringMatching(`[ab]{1,2}(/[ab]{1,2}){0,3}`).Draw(t, "name")
		p, err := pattern.Parse("edit(" + glob + ")")
		if err != nil {
			return
		}
		re := regexp.QuoteMeta(glob)
		re = regexp.MustCompile(`(^|/)(\\\*){2,}/`).ReplaceAllString(re, "${1}\x01")
		re = regexp.MustCompile(`(\\\*){2,}`).ReplaceAllString(re, "\x02")
		re = strings.NewReplacer(`\*`, `[^/]*`, "\x01", `(?:.*/)?`, "\x02", `.*`).Replace(re)
		want := regexp.MustCompile(`\A(?s:` + re + `)\z`).MatchString(name)
		if got := p.Covers("edit", pattern.Facts{Paths: []pattern.Path{{Name: name}}}); got != want {
			t.Fatalf("%q on %q: %t, %s", glob, name, got, re)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"shell(a b)", "exec(a) args(b *)", "exec(a)", "edit(a/**)", "web_fetch(https://x/*)", "exec(a) args(b) args(c)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pattern.Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("no message")
			}
			return
		}
		if again, err := pattern.Parse(p.String()); err != nil || again != p {
			t.Fatalf("%q is read back as %q, %v", p, again, err)
		}
		p.Meaning()
		p.Unreached()
		_ = p.ForDeny()
		_, _ = p.ForApprove()
	})
}

func FuzzPaths(f *testing.F) {
	f.Add("src/**", "src/../x", "/etc")
	f.Add("**/*.go", "./a//b.go", "")
	f.Add("a/**/b**", "a/b", "..")
	f.Add(".", ".", "/")
	f.Fuzz(func(t *testing.T, glob, name, resolved string) {
		p, err := pattern.Parse("edit(" + glob + ")")
		if err != nil {
			return
		}
		for _, fold := range []bool{false, true} {
			facts := pattern.Facts{Paths: []pattern.Path{{Name: name, Resolved: resolved}}, FoldCase: fold}
			if p.Covers("edit", facts) && !p.Reaches("edit", facts) {
				t.Fatalf("%s covers %+v and does not reach it", p, facts)
			}
			if p.Covers("edit", facts) && facts.Paths[0].Outside() {
				t.Fatalf("%s covers %+v outside", p, facts)
			}
			pattern.Offer("edit", facts)
		}
	})
}

func FuzzArguments(f *testing.F) {
	f.Add("rm", "-rf *", "env\x00rm\x00-rf")
	f.Add("a", "", "a\x00")
	f.Fuzz(func(t *testing.T, program, glob, joined string) {
		p, err := pattern.Parse("exec(" + program + ") args(" + glob + ")")
		if err != nil {
			return
		}
		facts := pattern.Facts{Argv: strings.Split(joined, "\x00")}
		if p.Covers("exec", facts) && !p.Reaches("exec", facts) {
			t.Fatalf("%s covers %q and does not reach it", p, facts.Argv)
		}
		wrapped := pattern.Facts{Argv: append([]string{"env", "A=1"}, facts.Argv...)}
		if p.Covers("exec", facts) && !strings.Contains(facts.Argv[0], "=") && !strings.HasPrefix(facts.Argv[0], "-") && !p.Reaches("exec", wrapped) {
			t.Fatalf("%s does not reach %q", p, wrapped.Argv)
		}
		p.Unclear("exec", facts)
		p.Reaches("shell", pattern.Facts{Principal: joined, Programs: []command.Program{{Argv: facts.Argv}, {}}})
	})
}
