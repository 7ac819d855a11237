package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func decodeInto(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
}

// indented writes JSON for people, with the story's long text cut out.
func indented(t *testing.T, raw []byte) []byte {
	t.Helper()
	var long bytes.Buffer
	enc := json.NewEncoder(&long)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(apitest.Long); err != nil {
		t.Fatal(err)
	}
	raw = bytes.ReplaceAll(raw, bytes.TrimSpace(long.Bytes()), []byte(`"(the long text)"`))
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return out.Bytes()
}
