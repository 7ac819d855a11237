package console_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"hecate/api/apitest"
	"hecate/api/stream"
	v1 "hecate/api/v1"
	"hecate/domain/event"
	"hecate/projections"
)

var update = flag.Bool("update", false, "write the generated types anew")

const (
	typesFile  = "src/api/types.gen.ts"
	eventsFile = "src/api/events.gen.ts"
	reference  = "#/components/schemas/"
)

// The types of the console's sources are those of the API.
func TestTypesAreThoseOfTheAPI(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(apitest.Start(t, apitest.Options{}).Do(t, "GET", "/openapi.json", nil).Body, &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas
	for name, s := range streamed(t) {
		if schemas[name] == nil {
			schemas[name] = s
		}
	}
	fresh(t, typesFile, typesOf(schemas))
}

// The console offers every type of event there is.
func TestEventTypesAreThoseOfTheLog(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("// Code generated from the events of the log; DO NOT EDIT.\n\nexport const eventTypes: readonly string[] = [\n")
	for _, d := range event.Definitions() {
		fmt.Fprintf(&b, "  '%s',\n", d.Type)
	}
	b.WriteString("];\n")
	fresh(t, eventsFile, b.Bytes())
}

// fresh compares a generated file with what it is to be.
func fresh(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, _ := os.ReadFile(name); !bytes.Equal(got, want) { // no file is not fresh either
		t.Error(name + " is not fresh: go test ./api/console -update")
	}
}

// streamed are the schemas of what the document does not show: frames of a run's stream,
// and the messages in its conversation.
func streamed(t *testing.T) map[string]*schema {
	r := huma.NewMapRegistry(reference, v1.SchemaName)
	r.Schema(reflect.TypeFor[stream.Frame](), true, "")
	r.Schema(reflect.TypeFor[projections.Message](), true, "")
	raw, err := json.Marshal(r.Map())
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]*schema
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// schema is what of a JSON schema has a meaning in TypeScript.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Enum                 []any
	Description          string
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	AdditionalProperties json.RawMessage
}

// typesOf writes an interface for every object and an alias for everything else.
func typesOf(schemas map[string]*schema) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the API document; DO NOT EDIT.\n")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		b.WriteString("\n")
		if s.Description != "" {
			b.WriteString(remark("", s.Description))
		}
		if len(s.Properties) > 0 {
			fmt.Fprintf(&b, "export interface %s %s\n", name, s.object(""))
		} else {
			fmt.Fprintf(&b, "export type %s = %s;\n", name, s.typeOf(""))
		}
	}
	return b.Bytes()
}

func (s *schema) object(indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		member, optional := s.Properties[name], "?"
		if member.Description != "" {
			b.WriteString(remark(indent+"  ", member.Description))
		}
		if slices.Contains(s.Required, name) {
			optional = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, optional, member.typeOf(indent+"  "))
	}
	return b.String() + indent + "}"
}

func remark(indent, text string) string {
	return indent + "/** " + strings.NewReplacer("\n", " ", "*/", "* /").Replace(text) + " */\n"
}

func (s *schema) typeOf(indent string) string {
	if s.Ref != "" {
		return strings.TrimPrefix(s.Ref, reference)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("%#v", v))
		}
		return strings.Join(values, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type.(string)
	case "integer", "number":
		return "number"
	case "array":
		item := s.Items.typeOf(indent)
		if strings.Contains(item, " ") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if len(s.Properties) > 0 {
			return s.object(indent)
		}
		var values schema
		if json.Unmarshal(s.AdditionalProperties, &values) == nil && values.Type != nil {
			return "Record<string, " + values.typeOf(indent) + ">"
		}
		return "Record<string, unknown>"
	}
	return "unknown"
}
