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
