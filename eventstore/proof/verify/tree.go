package verify

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// Pages of the tree and of the checkpoints that are read at a time.
const (
	treePage       = 32
	checkpointPage = 512
)

// treeReader goes through the hashes of the stored tree in order.
type treeReader struct {
	log   *stored.Log
	rows  []eventstore.TreeRow
	from  int64 // where the next page may begin
	want  int64 // where it must begin
	until int64 // hashes from here on are of no interest
	end   bool
	fault string // about the first row that does not go on where the one before ends
}

func newTreeReader(v *verifier) treeReader {
	return treeReader{log: v.log, from: math.MinInt64, until: tlog.StoredHashCount(v.bounds.Sealed)}
}

// at returns a hash by its index; ok is false if it is not stored. Indexes must not go back.
func (t *treeReader) at(ctx context.Context, index int64) (h tlog.Hash, ok bool, err error) {
	for {
		for len(t.rows) > 0 {
			row := t.rows[0]
			i := index - row.Start
			if i < 0 {
				return h, false, nil
			}
			if (i+1)*tlog.HashSize <= int64(len(row.Hashes)) {
				copy(h[:], row.Hashes[i*tlog.HashSize:])
				return h, true, nil
			}
			t.rows = t.rows[1:]
		}
		if t.end {
			return h, false, nil
		}
		if t.rows, err = t.log.TreeRows(ctx, t.from, treePage); err != nil {
			return h, false, err
		}
		if t.end = len(t.rows) == 0; !t.end {
			t.from = t.rows[len(t.rows)-1].Start + 1
			t.check()
		}
	}
}

// check looks whether the rows of a page go on from each other.
func (t *treeReader) check() {
	for _, row := range t.rows {
		n := len(row.Hashes)
		if t.fault == "" && t.want < t.until && (row.Start != t.want || n == 0 || n%tlog.HashSize != 0) {
			t.fault = fmt.Sprintf("the row of the stored tree at hash %d has %d bytes and begins at %d", t.want, n, row.Start)
		}
		t.want = row.Start + int64(n/tlog.HashSize)
	}
}

// shortTo reports whether the hash before this one is the last of a row that had room for
// more: then a seal ended with it.
func (t *treeReader) shortTo(end int64) bool {
	if len(t.rows) == 0 {
		return false
	}
	n := int64(len(t.rows[0].Hashes) / tlog.HashSize)
	return n < eventstore.TreeRowMax && t.rows[0].Start+n == end
}

// checkpointReader goes through the roots that the log was sealed with.
type checkpointReader struct {
	log   *stored.Log
	page  []eventstore.Checkpoint
	after int64
	end   bool
}

// at returns the root that was signed for a tree of exactly that size. Sizes must not go back.
func (c *checkpointReader) at(ctx context.Context, size int64) (root tlog.Hash, ok bool, err error) {
	for {
		for len(c.page) > 0 && c.page[0].Size < size {
			c.page = c.page[1:]
		}
		if len(c.page) > 0 {
			break
		}
		if c.end {
			return root, false, nil
		}
		if c.page, err = c.log.Checkpoints(ctx, c.after, checkpointPage); err != nil {
			return root, false, err
		}
		if c.end = len(c.page) == 0; !c.end {
			c.after = c.page[len(c.page)-1].Size
		}
	}
	if c.page[0].Size != size {
		return root, false, nil
	}
	head, err := proof.Read(c.page[0].Note)
	if err != nil || head.Size != size {
		return root, false, nil //nolint:nilerr // who checks the signatures says so
	}
	return head.Root, true, nil
}

// classify says what happened where the leaf that was sealed is not the record's: the
// records around it tell whether something was put in, taken out or moved.
func (v *verifier) classify(ctx context.Context, e *examined) (Finding, error) {
	f := Finding{Altered, e.position, e.position, e.name() + " is not the one that was sealed; its hash was made to fit"}
	if e.kind == Altered || e.kind == Content {
		f.Kind, f.Text = e.kind, e.name()+": "+e.text
		return f, nil
	}
	next := v.examine(ctx, e.position, e.position+1)
	if next.err != nil {
		return f, next.err
	}
	index := func(position int64) int64 { return tlog.StoredHashIndex(0, position-1) }
	sealed, err := v.log.TreeHashes(ctx, []int64{index(e.position), index(e.position + 1)})
	if err != nil {
		return f, err
	}
	nextIsThis := len(next.rows) > 0 && next.rows[0].leaf == sealed[0]
	switch thisIsNext := e.leaf == sealed[1]; {
	case thisIsNext && nextIsThis:
		f.Kind, f.Last, f.Text = Reordered, e.position+1, fmt.Sprintf("%s and the one behind it have changed places", e.name())
	case nextIsThis:
		f.Kind, f.Text = Inserted, e.name()+" was put in; the one that was sealed as this comes behind it"
	case thisIsNext:
		f.Kind, f.Text = Missing, fmt.Sprintf("record %d was taken out: the one that was sealed as %d stands in its place", e.position, e.position+1)
	default:
		at, err := v.find(ctx, e.leaf)
		if err != nil || at == 0 {
			return f, err
		}
		f.Kind, f.Text = Reordered, fmt.Sprintf("%s was sealed as record %d", e.name(), at)
	}
	return f, nil
}

// find returns the position at which a record was sealed; 0 if it never was.
func (v *verifier) find(ctx context.Context, leaf tlog.Hash) (int64, error) {
	tree := newTreeReader(v)
	for position := int64(1); position <= v.bounds.Sealed; position++ {
		h, _, err := tree.at(ctx, tlog.StoredHashIndex(0, position-1))
		if err != nil {
			return 0, err
		}
		if h == leaf {
			return position, nil
		}
	}
	return 0, nil
}
