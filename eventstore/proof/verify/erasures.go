package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/eventstore/proof/stored"
)

// Erased is one erasure that the log tells of.
type Erased struct {
	Position int64            `json:"position"` // of the record that says so
	At       time.Time        `json:"at"`
	Actor    eventstore.Actor `json:"actor"`
	Rule     string           `json:"rule"`
	Policy   string           `json:"policy,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Subject  string           `json:"subject"`
	Records  int              `json:"records"`
	Contents int              `json:"contents"`
}

// Named is what erasures say was erased.
type Named struct {
	Erasures []Erased
	version  int64 // of the stream, up to which it was read
	records  map[int64]namedRecord
	contents map[string]int64 // by digest, the position of the record that names it
	doubtful map[int64]bool   // records that were altered: what they say does not count, and is found there
}

type namedRecord struct {
	by   int64
	form string
}

// NewNamed returns what no erasure has named anything in.
func NewNamed() *Named {
	return &Named{records: map[int64]namedRecord{}, contents: map[string]int64{}, doubtful: map[int64]bool{}}
}

// Add reads an erasure. Whether its record is the one that was sealed is for others to find out.
func (n *Named) Add(r *eventstore.Record) {
	var p erasure.Erased
	if r.Stream != erasure.Stream || r.Type != erasure.Type {
		return
	}
	if eventstore.Verify(*r) != nil || json.Unmarshal(r.Data, &p) != nil {
		n.doubtful[r.Position] = true
		return
	}
	n.Erasures = append(n.Erasures, Erased{
		Position: r.Position, At: r.At, Actor: r.Actor, Rule: p.Rule, Policy: p.Policy, Reason: p.Reason, Subject: p.Subject,
		Records: len(p.Records), Contents: len(p.Contents),
	})
	for _, rec := range p.Records {
		n.records[rec.Position] = namedRecord{r.Position, rec.Form}
	}
	for _, digest := range p.Contents {
		if _, before := n.contents[digest]; !before {
			n.contents[digest] = r.Position
		}
	}
}

// Check says what is wrong about the erasure of a record, if anything is.
func (n *Named) Check(r *eventstore.Record) string {
	named, ok := n.records[r.Position]
	switch {
	case r.Erased == 0 && !ok, n.doubtful[r.Erased]:
		return ""
	case r.Erased == 0:
		return fmt.Sprintf("record %d says that its data was erased, and it is there", named.by)
	case !ok || named.by != r.Erased:
		return fmt.Sprintf("its data is said to be erased by record %d, and that does not name it", r.Erased)
	case named.form != eventstore.FormDigest(r.Data):
		return fmt.Sprintf("what is left of it is not what record %d says", named.by)
	}
	return ""
}

// Content reports which record says that a large content was erased, 0 if none does.
func (n *Named) Content(digest string) int64 { return n.contents[digest] }

// erasures reads what the log says was erased. The table of erased contents comes first: what
// is erased meanwhile is then named, if not in the table.
func (v *verifier) erasures(ctx context.Context) error {
	table, err := v.log.ErasedContents(ctx)
	if err != nil {
		return err
	}
	v.named = NewNamed()
	if err := v.moreErasures(ctx); err != nil {
		return err
	}
	return v.erasedContents(ctx, table)
}

// erasurePage is how many erasures are read at a time. Each may name a thousand records.
const erasurePage = 100

// moreErasures reads those that are not known yet.
func (v *verifier) moreErasures(ctx context.Context) error {
	for {
		rows, err := v.log.StreamRows(ctx, erasure.Stream, v.named.version, erasurePage)
		if err != nil {
			return err
		}
		for i := range rows {
			v.named.Add(&rows[i].Record)
			v.named.version = max(v.named.version, rows[i].Version)
		}
		if len(rows) < erasurePage {
			return nil
		}
	}
}

// erasedContents holds the table of erased contents, and what is left of these, against the erasures.
func (v *verifier) erasedContents(ctx context.Context, table map[string]int64) error {
	for _, digest := range slices.Sorted(maps.Keys(table)) {
		if by := v.named.contents[digest]; by != table[digest] && !v.named.doubtful[table[digest]] {
			v.add(Finding{Link, table[digest], table[digest], fmt.Sprintf("the table of erased contents says that record %d has erased content %.100s, and it does not say so", table[digest], digest)})
			break
		}
	}
	digests := slices.Sorted(maps.Keys(v.named.contents))
	for page := range slices.Chunk(digests, digestPage) {
		there, err := v.log.Contents(ctx, page)
		if err != nil {
			return err
		}
		for _, digest := range there {
			by := v.named.contents[digest]
			v.add(Finding{Erasure, by, by, fmt.Sprintf("record %d says that content %s was erased, and it is there", by, digest)})
		}
		for _, digest := range page {
			by := v.named.contents[digest]
			if _, ok := table[digest]; !ok && by <= v.bounds.Last {
				v.add(Finding{Link, by, by, fmt.Sprintf("the table of erased contents does not have content %s, which record %d names", digest, by)})
				return nil
			}
		}
	}
	return nil
}

// digestPage is how many contents are looked up at a time.
const digestPage = 1000

// erasure notes what is wrong about the erasure of a record, if anything is also for those
// that were appended meanwhile.
func (v *verifier) erasure(ctx context.Context, e *examined, r *stored.Row) error {
	e.erased = r.Erased != 0
	v.naming.Lock()
	defer v.naming.Unlock()
	text := v.named.Check(&r.Record)
	if text != "" {
		if err := v.moreErasures(ctx); err != nil {
			return err
		}
		text = v.named.Check(&r.Record)
	}
	if text != "" {
		e.fault(Erasure, text)
	}
	return nil
}

// contentErased reports whether a large content was erased.
func (v *verifier) contentErased(ctx context.Context, digest string) (bool, error) {
	v.naming.Lock()
	defer v.naming.Unlock()
	if v.named.contents[digest] == 0 {
		if err := v.moreErasures(ctx); err != nil {
			return false, err
		}
	}
	return v.named.contents[digest] != 0 || len(v.named.doubtful) > 0, nil
}
