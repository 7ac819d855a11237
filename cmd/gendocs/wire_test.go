package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

const wireDir = "testdata/wire"

// What one version writes, all later ones must read. So the bytes of every event
// type stand in a file, <type>.<schema>.json, and a file is only ever added.
func TestWireFormOfEveryEvent(t *testing.T) {
	for _, d := range event.Definitions() {
		t.Run(d.Type, func(t *testing.T) {
			got := encode(t, d.Sample)
			file := filepath.Join(wireDir, fmt.Sprintf("%s.%d.json", d.Type, d.Schema))
			want, err := os.ReadFile(file)
			switch {
			case *update:
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			case errors.Is(err, fs.ErrNotExist):
				t.Fatalf("%s is missing: run go test ./cmd/gendocs -update", file)
			case err != nil:
				t.Fatal(err)
			default:
				if diff := cmp.Diff(string(bytes.TrimSpace(want)), string(got)); diff != "" {
					t.Errorf("the bytes of schema %d changed (-recorded +now). If a release has written them, this is a new "+
						"schema: keep the old struct, add an event.Upcast and the new file. Else run with -update.\n%s", d.Schema, diff)
				}
			}
		})
	}
}

// Records are never rewritten, so every form that was ever written must still be
// read, as an event that this version knows and without losing members on the way.
func TestOldRecordsAreStillRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data = bytes.TrimSpace(data)
			typ, schema := parseName(t, file)
			p, err := event.Decode(typ, schema, data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, unknown := p.(event.Unknown); unknown {
				t.Fatalf("this version does not know %s schema %d any more", typ, schema)
			}
			again := encode(t, p)
			if current(typ) == schema && !bytes.Equal(again, data) {
				t.Errorf("read and written again it differs:\n%s", cmp.Diff(string(data), string(again)))
			}
		})
	}
}

func encode(t *testing.T, p event.Payload) []byte {
	t.Helper()
	e, err := event.Encode(p, sampleSalt)
	if err != nil {
		t.Fatal(err)
	}
	return e.Data
}

func parseName(t *testing.T, file string) (typ string, schema int) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	dot := strings.LastIndexByte(name, '.')
	schema, err := strconv.Atoi(name[dot+1:])
	if err != nil {
		t.Fatalf("%s is not <type>.<schema>.json", file)
	}
	return name[:dot], schema
}

func current(typ string) int {
	for _, d := range event.Definitions() {
		if d.Type == typ {
			return d.Schema
		}
	}
	return 0
}
