// Package verify holds a log against its hashes, its tree, what was signed about it and what
// somebody has kept elsewhere. It says which record is the first that is not what it was.
package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// Kind is what is wrong.
type Kind string

// The kinds of findings.
const (
	Altered   Kind = "altered"   // a record does not say what was hashed, or what was sealed
	Content   Kind = "content"   // data or large content of a record is missing or changed
	Missing   Kind = "missing"   // records that were there are not
	Inserted  Kind = "inserted"  // a record stands where another one was
	Reordered Kind = "reordered" // a record stands at another's place
	Link      Kind = "link"      // a table beside the log points to the wrong records
	Tree      Kind = "tree"      // the stored tree is not what the records add up to; the records are
	Signature Kind = "signature" // a checkpoint is not signed, or not by the key
	Rewound   Kind = "rewound"   // the log is an earlier state of itself
	Erasure   Kind = "erasure"   // what was erased, and what is said to be, are not the same
)

// Finding is one thing that is wrong with a log.
type Finding struct {
	Kind  Kind   `json:"kind"`
	First int64  `json:"first"` // positions that are concerned; 0 if it is not about records
	Last  int64  `json:"last"`
	Text  string `json:"text"` // one sentence
}

// Options say what to hold a log against.
type Options struct {
	Keys        []string // public keys from elsewhere; none for those that the log itself names
	Checkpoints [][]byte // kept elsewhere
	Parallel    int      // readers at a time; at least 1
	Progress    func(done, total int64)
}

// Report is what was found.
type Report struct {
	LogID       string    `json:"log_id"`
	Records     int64     `json:"records"`           // in the log
	Verified    int64     `json:"verified"`          // of them, from the first one on, in order
	Streams     int       `json:"streams,omitempty"` // of the log; 0 where the records could not be read to their end
	Blobs       int64     `json:"contents"`          // large ones, that stand beside the records
	Erased      int64     `json:"erased"`            // records whose data was erased, and that say so
	Erasures    []Erased  `json:"erasures,omitempty"`
	Sealed      int64     `json:"sealed"`            // records under the newest checkpoint of the log itself
	Checkpoints int       `json:"checkpoints"`       // of the log itself, whose signatures were checked
	Key         string    `json:"key,omitempty"`     // that the newest of them were checked with
	Keys        []Key     `json:"keys,omitempty"`    // of the log, in the order in which they sign
	Kept        []int64   `json:"kept"`              // sizes of the checkpoints from elsewhere that fit
	Notices     []Notice  `json:"notices,omitempty"` // about keys that took the place of lost ones
	Findings    []Finding `json:"findings"`          // in order of position
}

// Sound reports whether nothing was found.
func (r Report) Sound() bool { return len(r.Findings) == 0 }

// verifier is one verification under way.
type verifier struct {
	log    *stored.Log
	o      Options
	origin string
	bounds stored.Bounds
	report Report
	kept   []proof.Head // sound, by size
	naming sync.Mutex   // guards named while records are examined
	named  *Named

	walked, indexed stored.Places // of the records that the table of streams has; by the log, and by that table
}

// Log verifies a whole log. An error means that it could not be read; what is wrong with it
// is in the report.
func Log(ctx context.Context, log *stored.Log, o Options) (Report, error) {
	v := &verifier{log: log, o: o, report: Report{Kept: []int64{}, Findings: []Finding{}}}
	v.o.Parallel = max(1, o.Parallel)
	if err := v.run(ctx); err != nil {
		return v.report, fmt.Errorf("verify %s: %w", log, err)
	}
	slices.SortStableFunc(v.report.Findings, func(a, b Finding) int { return cmp.Compare(a.First, b.First) })
	return v.report, nil
}

func (v *verifier) add(f Finding) { v.report.Findings = append(v.report.Findings, f) }

// begin reads which log it is, and where it ends.
func (v *verifier) begin(ctx context.Context) (err error) {
	if v.bounds, err = v.log.Bounds(ctx); err != nil {
		return err
	}
	v.report.LogID, err = v.log.ID(ctx)
	v.origin = proof.Origin(v.report.LogID)
	return err
}

func (v *verifier) run(ctx context.Context) error {
	if err := v.begin(ctx); err != nil {
		return err
	}
	v.report.Records, v.report.Sealed = v.bounds.Last, v.bounds.Sealed
	keys, err := v.keys(ctx)
	if err != nil {
		return err
	}
	v.openKept(keys)
	v.ends()
	if err := v.erasures(ctx); err != nil {
		return err
	}
	var faults []stored.Fault
	var signatures []Finding
	v.bounds.Indexed = min(v.bounds.Indexed, v.bounds.Last)
	v.walked, v.indexed = stored.NewPlaces()
	g, all := errgroup.WithContext(ctx)
	g.Go(func() (err error) { faults, err = v.log.Faults(all, v.bounds.Last); return err })
	g.Go(func() (err error) { signatures, err = v.signatures(all, keys); return err })
	g.Go(func() error { return v.log.AddStreams(all, v.bounds.Indexed, &v.indexed) })
	g.Go(func() error { return v.walk(all) })
	if err := g.Wait(); err != nil {
		return err
	}
	for _, f := range faults {
		v.add(Finding{Link, f.Position, f.Position, f.Text})
	}
	v.report.Findings = append(v.report.Findings, signatures...)
	v.report.Erasures = v.named.Erasures
	return v.streams(ctx)
}

// streams holds the table of streams against the records.
func (v *verifier) streams(ctx context.Context) error {
	if v.walked.Equal(&v.indexed) {
		return nil
	}
	faults, err := v.log.StreamFaults(ctx, v.bounds.Last)
	for _, f := range faults {
		v.add(Finding{Link, f.Position, f.Position, f.Text})
	}
	if err == nil && len(faults) == 0 && v.report.Sound() {
		v.add(Finding{Link, 0, 0, "the table of streams does not agree with the records"})
	}
	return err
}

// ends looks at where the log, its data and its tree begin and end.
func (v *verifier) ends() {
	b := v.bounds
	if b.Last > 0 && b.First < 1 {
		v.add(Finding{Inserted, b.First, b.First, "a record stands before the first position"})
	}
	if b.LastPayload > 0 && b.FirstPayload < 1 {
		v.add(Finding{Inserted, b.FirstPayload, b.FirstPayload, "the table of data has a row before the first position"})
	}
	if b.LastPayload > b.Last {
		v.add(Finding{Missing, b.Last + 1, b.LastPayload, "there is data of records that are not in the log"})
	}
	if given := max(b.Sealed, b.Floor); given > b.Last {
		what := fmt.Sprintf("the log was sealed up to %d", b.Sealed)
		if b.Floor > b.Sealed {
			what = fmt.Sprintf("positions up to %d were given out", b.Floor)
		}
		v.add(Finding{Missing, b.Last + 1, given, what + fmt.Sprintf(", and ends at %d", b.Last)})
	}
	if want := tlog.StoredHashCount(b.Sealed); b.TreeEnd != want {
		v.add(Finding{Tree, 0, 0, fmt.Sprintf("the stored tree has %d hashes, and the newest checkpoint, for %d records, needs %d", b.TreeEnd, b.Sealed, want)})
	}
}

// openKept reads the checkpoints that were kept elsewhere.
func (v *verifier) openKept(keys keyring) {
	for _, raw := range v.o.Checkpoints {
		head, err := keys.open(raw, v.o.Keys)
		switch {
		case err != nil:
			v.add(Finding{Signature, 0, 0, fmt.Sprintf("a checkpoint that was kept elsewhere: %v", err)})
		case head.Origin != v.origin:
			v.add(Finding{Signature, 0, 0, fmt.Sprintf("a checkpoint that was kept elsewhere is about %.100q, and this log is %q", head.Origin, v.origin)})
		case head.Size > v.bounds.Last:
			v.add(Finding{Rewound, v.bounds.Last + 1, head.Size, fmt.Sprintf("a checkpoint that was kept elsewhere is about %d records, and the log has %d", head.Size, v.bounds.Last)})
		default:
			v.kept = append(v.kept, head)
		}
	}
	slices.SortFunc(v.kept, func(a, b proof.Head) int { return cmp.Compare(a.Size, b.Size) })
}
