package pattern_test

import (
	"testing"

	"hecate/domain/permission/pattern"
)

// A grant for a URL is for reading it and nothing else, and input to a program is covered
// by no text.
func TestWhatAGrantDoesNotCover(t *testing.T) {
	url, err := pattern.Parse("http_request(https://a.example/x)")
	if err != nil {
		t.Fatal(err)
	}
	for plain, covers := range map[bool]bool{true: true, false: false} {
		f := pattern.Facts{Principal: "https://a.example/x", Plain: plain}
		if url.Covers("http_request", f) != covers {
			t.Errorf("plain %t: covered %t", plain, !covers)
		}
		if _, offered := pattern.Offer("http_request", f); offered != covers {
			t.Errorf("plain %t: offered %t", plain, offered)
		}
	}
	input, err := pattern.Parse("terminal_write(y)")
	if err != nil {
		t.Fatal(err)
	}
	f := pattern.Facts{Principal: "y"}
	if _, offered := pattern.Offer("terminal_write", f); offered || input.Covers("terminal_write", f) {
		t.Error("input to one program answers another")
	}
}

// The same words in another directory are another command.
func TestDirectories(t *testing.T) {
	for text, c := range map[string]struct {
		tool  string
		facts pattern.Facts
		moves bool
	}{
		"shell(./x)":          {"shell_exec", pattern.Facts{Principal: "./x"}, true},
		"exec(./x) args(*)":   {"exec", pattern.Facts{Argv: []string{"./x"}}, true},
		"exec(cargo) args(*)": {"exec", pattern.Facts{Argv: []string{"cargo"}}, false},
		"exec(/x) args(*)":    {"exec", pattern.Facts{Argv: []string{"/x"}}, false},
	} {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		below := c.facts
		below.Dir = "sub"
		if !p.Covers(c.tool, c.facts) || p.Covers(c.tool, below) == c.moves {
			t.Errorf("%s: covers the root %t, below %t", text, p.Covers(c.tool, c.facts), p.Covers(c.tool, below))
		}
	}
}
