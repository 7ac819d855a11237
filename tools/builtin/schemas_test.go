package builtin_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"hecate/tools"
	"hecate/tools/builtin"
)

// catalogue is what a server with every tool offers to a model, in order.
func catalogue() []tools.Tool {
	return append(builtin.All(), builtin.WebSearch(builtin.Search{Provider: "brave"}))
}

// Names, summaries and schemas are part of every request: what a model makes of them and
// what a provider has cached changes with each byte.
func TestSchemasAsModelsSeeThem(t *testing.T) {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var all []definition
	for _, x := range catalogue() {
		all = append(all, definition{x.Name, x.Summary, x.Schema})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	golden(t, "schemas.json", b.String())
}
