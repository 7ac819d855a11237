package api_test

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/api/apitest"
	"hecate/domain/logkey"
	"hecate/eventstore/proof"
)

// sealer returns what seals the log of a server, and the public key.
func sealer(t *testing.T, s *apitest.Server) (*proof.Sealer, string) {
	t.Helper()
	id, err := s.Store.LogID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := proof.OpenKey(filepath.Join(t.TempDir(), "audit.key"), proof.Origin(id))
	if err != nil {
		t.Fatal(err)
	}
	log, ok := s.Store.(proof.Log)
	if !ok {
		t.Fatalf("%T cannot be sealed", s.Store)
	}
	sealer, err := proof.NewSealer(t.Context(), log, key, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return sealer, key.Public
}

func fromHex(t *testing.T, list []string) (out []tlog.Hash) {
	t.Helper()
	for _, text := range list {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != tlog.HashSize {
			t.Fatalf("%q: %v", text, err)
		}
		out = append(out, tlog.Hash(raw))
	}
	return out
}

// With nothing but the answers of the server and its key, a client can prove an event, and
// that the log has grown from what it was.
func TestProof(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.StartRun(t, s.Task(t, nil))
	type state struct {
		Head, Sealed    int64
		Checkpoint, Key string
		Consistency     []string
	}
	var nothing state
	if object := s.Do(t, "GET", base+"/audit/checkpoint", nil).Data(t, &nothing); object != "audit_checkpoint" || nothing.Sealed != 0 || nothing.Checkpoint != "" || nothing.Head < 3 {
		t.Errorf("%s before the first seal: %+v", object, nothing)
	}
	if a := s.Do(t, "GET", base+"/audit/events/1/proof", nil); a.Status != http.StatusConflict {
		t.Errorf("a proof before the first seal: %d %s", a.Status, a.Body)
	}
	seal, key := sealer(t, s)
	take := func(query string) (got state, head proof.Head) {
		t.Helper()
		if err := seal.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Do(t, "GET", base+"/audit/checkpoint"+query, nil).Data(t, &got)
		head, err := proof.Open([]byte(got.Checkpoint), key)
		if err != nil || head.Size != got.Sealed || got.Key != key || got.Sealed != got.Head {
			t.Fatalf("%+v, %v", got, err)
		}
		return got, head
	}
	_, first := take("")
	s.StartRun(t, s.Task(t, nil))
	grown, second := take(fmt.Sprintf("?since=%d", first.Size))
	if err := tlog.CheckTree(fromHex(t, grown.Consistency), second.Size, second.Root, first.Size, first.Root); err != nil {
		t.Errorf("from %d to %d: %v", first.Size, second.Size, err)
	}
	for sequence := int64(1); sequence <= second.Size; sequence++ {
		var p struct {
			Hash, Checkpoint string
			Index            int64 `json:"leaf_index"`
			Size             int64
			Path             []string
		}
		object := s.Do(t, "GET", fmt.Sprintf("%s/audit/events/%d/proof", base, sequence), nil).Data(t, &p)
		leaf := proof.Leaf([32]byte(fromHex(t, []string{p.Hash})[0]))
		if err := tlog.CheckRecord(fromHex(t, p.Path), p.Size, second.Root, p.Index, leaf); err != nil || object != "audit_event_proof" || p.Index != sequence-1 {
			t.Errorf("%s of %d: %v, %+v", object, sequence, err, p)
		}
	}
	for path, want := range map[string]int{
		"/audit/checkpoint?since=x": 400, "/audit/checkpoint?since=99999": 400, "/audit/events/0/proof": 404, "/audit/events/99999/proof": 404, "/audit/events/x/proof": 400,
	} {
		if a := s.Do(t, "GET", base+path, nil); a.Status != want {
			t.Errorf("%s: %d %s, want %d", path, a.Status, a.Body, want)
		}
	}
}

// After the key was changed, the server tells all keys, and the events that name them.
func TestKeys(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.StartRun(t, s.Task(t, nil))
	id, err := s.Store.LogID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: proof.Origin(id)}
	first, _, err := proof.OpenKey(file.Path, file.Origin)
	if err != nil {
		t.Fatal(err)
	}
	seal, err := proof.NewSealer(t.Context(), s.Store.(proof.Log), file, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (got struct {
		Sealed int64
		Key    string
		Keys   []struct {
			Key, Reason string
			Since       int64
			NamedBy     int64 `json:"named_by"`
			Replaced    bool
		}
	},
	) {
		if err := seal.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Do(t, "GET", base+"/audit/checkpoint", nil).Data(t, &got)
		return got
	}
	before := ask()
	if len(before.Keys) != 1 || before.Keys[0].Key != first.Public || before.Keys[0].Since != before.Sealed || before.Keys[0].NamedBy != 0 {
		t.Errorf("with one key: %+v", before)
	}
	next, err := file.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	statement, err := first.Vouch(next.Public)
	if err != nil {
		t.Fatal(err)
	}
	apitest.Append(t, s.Store, logkey.Stream, logkey.Rotated{Old: first.Public, New: next.Public, Reason: "why", Statement: statement})
	got := ask()
	named := before.Sealed + 1
	if got.Key != next.Public || len(got.Keys) != 2 || got.Keys[1].Key != next.Public || got.Keys[1].Since != named || got.Keys[1].NamedBy != named || got.Keys[1].Reason != "why" || got.Keys[1].Replaced {
		t.Errorf("after a change: %+v", got)
	}
	var events []struct{ Sequence int64 }
	s.Do(t, "GET", base+"/audit/events?event_type=log.key_rotated", nil).Data(t, &events)
	if len(events) != 1 || events[0].Sequence != named {
		t.Errorf("events about it: %+v", events)
	}
}
