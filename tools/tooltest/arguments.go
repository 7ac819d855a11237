package tooltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// schema is what a tool says of its arguments.
func schema(t *testing.T, c Case) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(c.Tool.Schema, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func checkSchema(t *testing.T, c Case) {
	s := schema(t, c)
	if s.Type != "object" || s.AdditionalProperties != nil || !strings.Contains(string(c.Tool.Schema), `"properties"`) {
		t.Errorf("the schema is no open object that says which members it has: %s", c.Tool.Schema)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(c.Args); err != nil {
		t.Errorf("the arguments %v do not fit the schema: %v", c.Args, err)
	}
	if c.Tool.Summary == "" || !strings.HasSuffix(c.Tool.Summary, ".") {
		t.Errorf("the summary is no sentence: %q", c.Tool.Summary)
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
		if p.Type == "array" && p.Items == nil {
			t.Errorf("the list %s does not say of what", name)
		}
		if _, given := c.Args[name]; !given {
			t.Errorf("the arguments of the case leave out %s, which is checked nowhere then", name)
		}
	}
}

// others are values by the type that they are not of.
var others = map[string][]string{
	"string":  {"1", "true", `["x"]`, `{"is":{"an":"object"}}`},
	"integer": {`"1"`, "1.5", "1e99", "true", "[1]", `{"is":{"an":"object"}}`},
	"boolean": {`"true"`, "1", "[true]", `{"is":{"an":"object"}}`},
	"array":   {`"x"`, "[1]", `[["x"]]`, `{"is":{"an":"object"}}`},
	"object":  {`"x"`, "1", `["x"]`, `{"is":{"an":"object"}}`},
}

const deep = 100 // more levels than arguments may have

// checkArguments gives the tool what it has to refuse, in the contract's words.
func checkArguments(t *testing.T, c Case) {
	nested := strings.Repeat("[", deep) + strings.Repeat("]", deep)
	bad := []string{"[]", `"x"`, "1", "{", `{"a":1,"a":2}`, `{"a":1}{}`, `{"x_unknown":` + nested + `}`, nested, "{\"a\":\"\xff\"}", "\xff", `{"a":"\ud800"}`}
	for name, p := range schema(t, c).Properties {
		for _, v := range others[p.Type] {
			bad = append(bad, fmt.Sprintf(`{%q:%s}`, name, v))
		}
		first := name[:1]
		bad = append(bad, fmt.Sprintf(`{%q:null,%q:null}`, name, name), fmt.Sprintf(`{%q:null,"\u%04x%s":null}`, name, first[0], name[1:]), fmt.Sprintf(`{%q:%s}`, name, nested))
	}
	want := "invalid arguments for " + c.Tool.Name + ": "
	for _, args := range bad {
		_, err := c.Tool.Prepare(json.RawMessage(args))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.200s: got %v, want %s…", args, err, want)
		} else if len(err.Error()) > errorTextMax {
			t.Errorf("%.200s: the error has %d bytes", args, len(err.Error()))
		}
	}
	more := map[string]any{"x_unknown": map[string]any{"deep": []int{1}}, "x_huge": strings.Repeat("x", 256<<10)}
	maps.Copy(more, c.Args)
	p, err := c.Tool.Prepare(encode(t, more))
	if err != nil {
		t.Fatalf("unknown members: %v", err)
	}
	if p.Run == nil || !strings.HasPrefix(p.Line, c.Tool.Name) || strings.ContainsAny(p.Line, "\n\r\x1b") {
		t.Errorf("the approval line is %q", p.Line)
	}
}

// checkValues gives the tool arguments of the right type that it cannot have meant: what
// is required is missing, a word is none of those that there are. Whatever it answers, it
// changes nothing. Numbers out of range are brought into it.
func checkValues(t *testing.T, c Case) {
	s := schema(t, c)
	for _, name := range s.Required {
		checkWrong(t, c, func(args map[string]any) { delete(args, name) })
	}
	for name, p := range s.Properties {
		if p.Enum != nil {
			checkWrong(t, c, func(args map[string]any) { args[name] = "x-no-such-word" })
		}
		for _, n := range []float64{-1e9, 1e9} {
			if p.Type != "integer" {
				continue
			}
			args := maps.Clone(c.Args)
			args[name] = n
			if _, err := c.Tool.Prepare(encode(t, args)); err != nil {
				t.Errorf("%s of %g: %v", name, n, err)
			}
		}
	}
}

// checkWrong makes a call that something is wrong with.
func checkWrong(t *testing.T, c Case, spoil func(args map[string]any)) {
	w, args := begin(t, c, c.Args)
	spoil(args)
	before := tree(t, w.Dir)
	p, err := c.Tool.Prepare(encode(t, args))
	if err != nil {
		return
	}
	w.Env.ToolName = c.Tool.Name
	checkResult(t, p.Run(t.Context(), w.Env))
	unchanged(t, w, before)
}
