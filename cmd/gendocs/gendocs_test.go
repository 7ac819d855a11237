package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
)

const root = "../.."

func TestEveryDefinedEventIsOnThePage(t *testing.T) {
	page, err := eventsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range event.Definitions() {
		if !strings.Contains(string(page), "\n## `"+d.Type+"`\n") {
			t.Errorf("%s has no section", d.Type)
		}
	}
}

func TestThePageIsTheSameEachTime(t *testing.T) {
	first, err := eventsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	second, err := eventsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryLinkHasItsHeading(t *testing.T) {
	page, err := eventsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			headings[anchor(strings.Trim(strings.ReplaceAll(text, "`", ""), "\n"))] = true
		}
	}
	for _, part := range strings.Split(string(page), "](#")[1:] {
		if link, _, _ := strings.Cut(part, ")"); !headings[link] {
			t.Errorf("nothing is called #%s", link)
		}
	}
}

type base struct {
	Shared int `json:"shared"`
	Hidden int `json:"hidden"`
}

type sample struct {
	base
	Hidden  string              `json:"hidden"` // the outer one wins
	Text    event.Text          `json:"text,omitzero"`
	Maybe   *string             `json:"maybe"`
	Left    *bool               `json:"left,omitempty"`
	List    []float64           `json:"list"`
	Map     map[string]any      `json:"map"`
	Raw     json.RawMessage     `json:"raw"`
	At      time.Time           `json:"at"`
	Bytes   []byte              `json:"bytes"`
	Nested  map[string][]nested `json:"nested"`
	NoTag   uint8
	Skipped func() `json:"-"`
}

type nested struct {
	Again []nested `json:"again"`
}

func TestMembersFollowEncodingJSON(t *testing.T) {
	c := &catalogue{src: newSource(root), types: map[string]entry{}}
	// The comments of this test's own types are not in any package folder that the source reads.
	c.src.packages["hecate/cmd/gendocs"] = map[string]typeDoc{
		"sample": {fields: map[string]string{"Hidden": "the outer one wins"}},
	}
	got, err := c.members(reflect.TypeFor[sample]())
	if err != nil {
		t.Fatal(err)
	}
	want := []member{
		{"shared", "integer", false, ""},
		{"hidden", "string", false, "the outer one wins"},
		{"text", "string ([text](#texts))", true, ""},
		{"maybe", "string or null", false, ""},
		{"left", "boolean", true, ""},
		{"list", "array of number", false, ""},
		{"map", "object of any JSON", false, ""},
		{"raw", "any JSON", false, ""},
		{"at", "string (RFC 3339)", false, ""},
		{"bytes", "string (base64)", false, ""},
		{"nested", "object of array of [main.nested](#type-mainnested)", false, ""},
		{"NoTag", "integer", false, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
		t.Error(diff)
	}
	if got := c.typeNames(); !cmp.Equal(got, []string{"main.nested"}) {
		t.Errorf("types: %v", got)
	}
}

func TestCommentsAndConstantsComeFromTheSource(t *testing.T) {
	src := sourceOf(t, `package p

// Shade is how dark it is.
type Shade string

const (
	Light Shade = "light"
	Dark  Shade = "dark"
	Other       = "other"
)

// Turned is recorded when the
// light changes.
type Turned struct {
	Behind Shade // behind the field
	// above the field
	Above, Both Shade
	None        int
}
`)
	types, err := readPackage(src, "hecate/domain/p")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]typeDoc{
		"Shade": {doc: "Shade is how dark it is.", fields: map[string]string{}, values: []string{"light", "dark"}},
		"Turned": {doc: "Turned is recorded when the light changes.", fields: map[string]string{
			"Behind": "behind the field", "Above": "above the field", "Both": "above the field", "None": "",
		}},
	}
	if diff := cmp.Diff(want, types, cmp.AllowUnexported(typeDoc{})); diff != "" {
		t.Error(diff)
	}
}

func TestAnEventThatIsNotLinkedIsReported(t *testing.T) {
	src := sourceOf(t, "package p\n\ntype Lost struct{}\n\nfunc (Lost) EventType() string { return \"p.lost\" }\n")
	err := checkComplete(src)
	if err == nil || !strings.Contains(err.Error(), "hecate/domain/p.Lost") {
		t.Errorf("error: %v", err)
	}
}

// sourceOf makes a module whose only package is domain/p and returns its root.
func sourceOf(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "domain", "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "domain", "p", "p.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
