package archive_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/archive"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

const patience = 30 * time.Second

type said struct {
	Text event.Text `json:"text"`
}

func (said) EventType() string       { return "test.archived" }
func (s *said) Texts() []*event.Text { return []*event.Text{&s.Text} }

var _ = event.Define(said{})

// scene is a log with two streams that take turns, and data of any form.
type scene struct {
	log    *stored.Log
	public string
	early  []byte // checkpoint after the first half
	newest []byte
	blob   string
	path   string
	key    proof.Key
}

func play(t testing.TB) (sc scene) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	must(t, err)
	defer s.Close()
	id, err := s.LogID(ctx)
	must(t, err)
	key, _, err := proof.OpenKey(filepath.Join(t.TempDir(), "audit.key"), proof.Origin(id))
	must(t, err)
	sealer, err := proof.NewSealer(ctx, s, key, 0, slog.New(slog.DiscardHandler))
	must(t, err)
	sc.public, sc.path, sc.key = key.Public, path, key
	seal := func() []byte {
		must(t, sealer.Seal(ctx))
		last, _, err := s.LastSeal(ctx)
		must(t, err)
		return last.Note
	}
	add := func(stream string, events ...eventstore.Event) {
		_, err := s.Append(ctx, storetest.To(stream, eventstore.AnyVersion, events...))
		must(t, err)
	}
	encoded, err := event.Encode(said{event.NewText(strings.Repeat("large ", 5000))}, func() [16]byte { return [16]byte{1} })
	must(t, err)
	large := storetest.NewEvent(encoded.Type, string(encoded.Data))
	large.Blobs, sc.blob = encoded.Blobs, encoded.Blobs[0].Digest
	for i, data := range []string{`{"a":1}`, `{"html":"<&>","sep":"\u2028 ` + "\u2028" + `"}`, "{ \"loose\" :\n1}", "no JSON", "\xff\x00", `"text"`, `1e400`} {
		add("run-1", storetest.NewEvent("test.happened", data))
		add("run-2", storetest.NewEvents(3)...)
		if i == 2 {
			sc.early = seal()
		}
	}
	add("run-1", large)
	sc.newest = seal()
	add("run-2", storetest.NewEvents(1)...)
	sc.log, err = stored.OpenSQLite(t.Context(), path, "", 2)
	must(t, err)
	t.Cleanup(func() { _ = sc.log.Close() })
	return sc
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stream(t testing.TB, log *stored.Log, names ...string) iter.Seq2[stored.Row, error] {
	return func(yield func(stored.Row, error) bool) {
		for _, name := range names {
			rows, err := log.StreamRows(t.Context(), name, 0, 1000)
			must(t, err)
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

func stretch(t testing.TB, log *stored.Log, from, to int64) iter.Seq2[stored.Row, error] {
	return func(yield func(stored.Row, error) bool) {
		rows, err := log.Rows(t.Context(), from-1, to)
		must(t, err)
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func export(t testing.TB, sc scene, s archive.Selection) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(t.Context(), &b, sc.log, s)
	must(t, err)
	return b.Bytes()
}

// given are the keys from elsewhere: the one, or none.
func given(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

func check(t testing.TB, raw []byte, key string, kept ...[]byte) archive.Report {
	t.Helper()
	r, err := archive.Verify(bytes.NewReader(raw), int64(len(raw)), given(key), kept)
	must(t, err)
	return r
}

// An export proves itself without the log, against its own checkpoint or an older one.
func TestExport(t *testing.T) {
	sc := play(t)
	run := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	r := check(t, run, sc.public, sc.newest, sc.early)
	if !r.Sound() || r.Records != 8 || r.Contents != 1 || r.Unsealed != 0 || r.Versions["run-1"] != 8 || !slices.Equal(r.Kept, []int64{29}) || !slices.Equal(r.Other, []int64{12}) {
		t.Errorf("a run: %+v", r)
	}
	r = check(t, export(t, sc, archive.Selection{Asked: "records 5 to 30", From: 5, To: 30, Records: stretch(t, sc.log, 5, 30)}), "")
	if !r.Sound() || r.Records != 26 || r.Unsealed != 1 || r.Key != sc.public {
		t.Errorf("a stretch: %+v", r)
	}
	r = check(t, export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1"), Checkpoint: sc.early}), sc.public, sc.early)
	if !r.Sound() || r.Unsealed != 5 || !slices.Equal(r.Kept, []int64{12}) {
		t.Errorf("against an older checkpoint: %+v", r)
	}
	r = check(t, export(t, sc, archive.Selection{Asked: "nothing", Records: stream(t, sc.log)}), sc.public)
	if !r.Sound() || r.Records != 0 {
		t.Errorf("nothing: %+v", r)
	}
}

// Every member has a time that each tool can read, and that says nothing of the day.
func TestMemberTimes(t *testing.T) {
	sc := play(t)
	raw := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(t, err)
	for _, m := range z.File {
		if want := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); !m.Modified.Equal(want) || m.ModifiedDate != 1<<5|1 {
			t.Errorf("%s is of %v (%#x)", m.Name, m.Modified, m.ModifiedDate)
		}
	}
}

// member changes one member of an export; nil takes it out.
func member(t testing.TB, raw []byte, name string, change func(string) string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(t, err)
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, m := range z.File {
		r, err := m.Open()
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		if m.Name == name {
			if change == nil {
				continue
			}
			before := string(text)
			if text = []byte(change(before)); string(text) == before {
				t.Fatalf("the change of %s did nothing", name)
			}
		}
		w, err := out.Create(m.Name)
		must(t, err)
		_, err = w.Write(text)
		must(t, err)
	}
	must(t, out.Close())
	return b.Bytes()
}

func replace(from, to string) func(string) string {
	return func(s string) string { return strings.Replace(s, from, to, 1) }
}

// without drops one line.
func without(n int) func(string) string {
	return func(s string) string {
		lines := strings.SplitAfter(s, "\n")
		return strings.Join(slices.Delete(lines, n, n+1), "")
	}
}

// What is changed in an export is found, and the record named.
func TestForgedExport(t *testing.T) {
	sc := play(t)
	raw := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	other := export(t, sc, archive.Selection{Asked: "run run_2", Records: stream(t, sc.log, "run-2")})
	for name, c := range map[string]struct {
		raw   []byte
		kind  verify.Kind
		first int64
	}{
		"data":                 {member(t, raw, "records.jsonl", replace(`{"a":1}`, `{"a":2}`)), verify.Altered, 1},
		"an actor":             {member(t, raw, "records.jsonl", replace(`op-1`, `op-2`)), verify.Altered, 1},
		"a position":           {member(t, raw, "records.jsonl", replace(`"position":5,`, `"position":6,`)), verify.Tree, 6},
		"a record taken out":   {member(t, raw, "records.jsonl", without(3)), verify.Missing, 17},
		"the last taken out":   {member(t, raw, "records.jsonl", without(7)), verify.Missing, 0},
		"another run's":        {member(t, other, "manifest.json", replace("run_2", "run_1")), "", 0},
		"content":              {member(t, raw, "contents/"+sc.blob, replace("large", "LARGE")), verify.Content, 29},
		"content taken out":    {member(t, member(t, raw, "contents/"+sc.blob, nil), "contents.jsonl", without(0)), verify.Content, 29},
		"content put in":       {member(t, raw, "contents.jsonl", without(0)), verify.Content, 0},
		"a media type":         {member(t, raw, "contents.jsonl", replace("text/plain", "text/html")), verify.Content, 29},
		"the tree":             {member(t, raw, "tree.txt", without(0)), verify.Tree, 1},
		"a hash of the tree":   {member(t, raw, "tree.txt", func(s string) string { return s[:4] + strings.ToLower(swapDigit(s[4:])) }), verify.Altered, 1},
		"the checkpoint":       {member(t, raw, "checkpoint.txt", func(string) string { return string(sc.early) }), verify.Signature, 0},
		"the checkpoint's":     {member(t, raw, "checkpoint.txt", replace("\n29\n", "\n30\n")), verify.Signature, 0},
		"the key":              {member(t, raw, "key.txt", replace("hecate", "hecote")), verify.Signature, 0},
		"the size":             {member(t, raw, "manifest.json", replace(`"size": 29`, `"size": 28`)), verify.Signature, 0},
		"the number":           {member(t, raw, "manifest.json", replace(`"records": 8`, `"records": 9`)), verify.Missing, 0},
		"a stretch of the log": {member(t, raw, "manifest.json", replace(`"records"`, `"from": 1, "to": 8, "records"`)), verify.Missing, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := check(t, c.raw, sc.public)
			found := c.kind == "" && r.Sound() // the manifest is what the exporter says, not the log
			for _, f := range r.Findings {
				found = found || f.Kind == c.kind && f.First == c.first
			}
			if !found {
				t.Errorf("found %+v, want %s at %d", r.Findings, c.kind, c.first)
			}
		})
	}
	if r := check(t, raw, sc.public, []byte("no checkpoint")); r.Sound() {
		t.Error("a checkpoint that is none fits")
	}
}

// swapDigit changes the first hexadecimal digit.
func swapDigit(s string) string {
	if s[0] == '0' {
		return "1" + s[1:]
	}
	return "0" + s[1:]
}

// A file that is no export, or not a whole one, is refused as such.
func TestNoExport(t *testing.T) {
	sc := play(t)
	raw := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	twice := func(s string) string { return s + s }
	for name, raw := range map[string][]byte{
		"nothing":         nil,
		"half":            raw[:len(raw)/2],
		"text":            []byte("PK\x03\x04 and so on"),
		"another format":  member(t, raw, "manifest.json", replace("export.v1", "export.v2")),
		"no manifest":     member(t, raw, "manifest.json", nil),
		"no records":      member(t, raw, "records.jsonl", nil),
		"no tree":         member(t, raw, "tree.txt", nil),
		"no key":          member(t, raw, "key.txt", nil),
		"a record twice":  member(t, raw, "records.jsonl", twice),
		"contents twice":  member(t, raw, "contents.jsonl", twice),
		"no content":      member(t, raw, "contents/"+sc.blob, nil),
		"a long line":     member(t, raw, "records.jsonl", func(string) string { return strings.Repeat("x", 5<<20) }),
		"an odd line":     member(t, raw, "records.jsonl", replace(`"position"`, `"place"`)),
		"an odd id":       member(t, raw, "records.jsonl", replace(`"id":"`, `"id":"ff`)),
		"huge numbers":    member(t, raw, "records.jsonl", replace(`"position":1,`, `"position":99999999999999999999,`)),
		"odd tree":        member(t, raw, "tree.txt", replace("0", "-0x")),
		"many hashes":     member(t, raw, "tree.txt", func(s string) string { return strings.Repeat(s, 600) }),
		"odd checkpoint":  member(t, raw, "checkpoint.txt", func(string) string { return "x" }),
		"a huge key":      member(t, raw, "key.txt", func(s string) string { return strings.Repeat(s, 100) }),
		"outside":         added(t, raw, "../../etc/passwd"),
		"outside, hidden": added(t, raw, "contents/../x"),
		"a member twice":  added(t, raw, "records.jsonl"),
	} {
		if _, err := archive.Verify(bytes.NewReader(raw), int64(len(raw)), given(sc.public), nil); !errors.Is(err, archive.ErrForm) {
			t.Errorf("%s: %v, want ErrForm", name, err)
		}
	}
}

// added puts one more member into an export.
func added(t testing.TB, raw []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(t, err)
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, m := range z.File {
		must(t, out.Copy(m))
	}
	w, err := out.Create(name)
	must(t, err)
	_, err = io.WriteString(w, "x")
	must(t, err)
	must(t, out.Close())
	return b.Bytes()
}

// What somebody hands in as an export is read or refused, whatever it holds.
func FuzzVerify(f *testing.F) {
	sc := play(f)
	raw := export(f, sc, archive.Selection{Asked: "run run_1", Records: stream(f, sc.log, "run-1")})
	f.Add(raw)
	f.Add(raw[:len(raw)-30])
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := archive.Verify(bytes.NewReader(raw), int64(len(raw)), given(sc.public), [][]byte{sc.newest})
		if err == nil && r.Sound() && r.Records > 8 {
			t.Errorf("sound with %d records", r.Records)
		}
	})
}

// FuzzMembers puts anything in the place of members, which a fuzzer that has to get through
// the checksums of the file would never reach.
func FuzzMembers(f *testing.F) {
	sc := play(f)
	raw := export(f, sc, archive.Selection{Asked: "run run_1", Records: stream(f, sc.log, "run-1")})
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(f, err)
	names := []string{"manifest.json", "records.jsonl", "contents.jsonl", "checkpoint.txt", "key.txt", "tree.txt"}
	for i, name := range names {
		r, err := z.Open(name)
		must(f, err)
		text, err := io.ReadAll(r)
		must(f, err)
		f.Add(uint8(i), string(text))
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		name := names[int(which)%len(names)]
		var before string
		forged := member(t, raw, name, func(s string) string {
			before = s
			if s == text {
				return s + " "
			}
			return text
		})
		r, err := archive.Verify(bytes.NewReader(forged), int64(len(forged)), given(sc.public), nil)
		if err == nil && r.Sound() && name == "records.jsonl" && !strings.HasPrefix(strings.TrimSpace(text), strings.TrimSpace(before)[:20]) {
			t.Errorf("sound with records %q", text)
		}
	})
}
