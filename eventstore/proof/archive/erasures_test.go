package archive_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/archive"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// erase takes away what the first and the last record of run-1 say, and the large content.
func erase(t *testing.T, sc scene) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: sc.path})
	must(t, err)
	defer s.Close()
	p := erasure.Erased{Rule: erasure.RuleRequest, Reason: "a test", Subject: "run run_1", Contents: []string{sc.blob}}
	e := eventstore.Erasure{Contents: p.Contents}
	for _, position := range []int64{1, 29} {
		page, err := s.ReadAll(t.Context(), position-1, 1)
		must(t, err)
		form := []byte(`{"left":true}`)
		e.Records = append(e.Records, eventstore.ErasedRecord{Position: position, Salt: page[0].Salt, Digest: page[0].DataDigest(), Form: form})
		p.Records = append(p.Records, erasure.Record{Position: position, Form: eventstore.FormDigest(form)})
	}
	data, err := json.Marshal(p)
	must(t, err)
	b := storetest.To(erasure.Stream, 0, storetest.NewEvent(erasure.Type, string(data)))
	b.Erase = &e
	_, err = s.Append(t.Context(), b)
	must(t, err)
	sealer, err := proof.NewSealer(t.Context(), s, sc.key, 0, slog.New(slog.DiscardHandler))
	must(t, err)
	must(t, sealer.Seal(t.Context()))
}

// An export of what was erased says so, and proves that the log does.
func TestErasedExport(t *testing.T) {
	sc := play(t)
	before := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	erase(t, sc)
	raw := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1")})
	r := check(t, raw, sc.public)
	if !r.Sound() || r.Records != 8 || r.Erased != 2 || r.Contents != 0 || len(r.Erasures) != 1 || r.Erasures[0].Reason != "a test" || r.Erasures[0].Position != 31 {
		t.Fatalf("%+v", r)
	}
	if r := check(t, before, sc.public); !r.Sound() || r.Erased != 0 {
		t.Errorf("an export from before: %+v", r)
	}
	older := export(t, sc, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1"), Checkpoint: sc.newest})
	if r := check(t, older, sc.public, sc.newest); !r.Sound() || r.Erased != 2 || r.Unsealed != 1 {
		t.Errorf("against the checkpoint from before: %+v", r)
	}
	for name, c := range map[string]struct {
		raw   []byte
		kind  verify.Kind
		first int64
	}{
		"what is left":          {member(t, raw, "records.jsonl", replace(`{"left":true}`, `{"left":"lie"}`)), verify.Erasure, 1},
		"the digest":            {member(t, raw, "records.jsonl", replace(`"data_digest":"`, `"data_digest":"00`+`","x":"`)), "", 0},
		"another erasure":       {member(t, raw, "records.jsonl", replace(`"erased_by":31`, `"erased_by":30`)), verify.Erasure, 1},
		"the erasure's reason":  {member(t, raw, "erasures.jsonl", replace("a test", "a lie")), verify.Altered, 31},
		"the erasure taken out": {member(t, raw, "erasures.jsonl", nil), verify.Erasure, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.kind == "" { // no form of a line
				if _, err := archive.Verify(strings.NewReader(string(c.raw)), int64(len(c.raw)), given(sc.public), nil); err == nil {
					t.Error("it was read")
				}
				return
			}
			r := check(t, c.raw, sc.public)
			found := false
			for _, f := range r.Findings {
				found = found || f.Kind == c.kind && f.First == c.first
			}
			if !found {
				t.Errorf("found %+v, want %s at %d", r.Findings, c.kind, c.first)
			}
		})
	}
}
