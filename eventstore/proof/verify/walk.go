package verify

import (
	"context"
	"fmt"
	"math"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore/proof"
)

// partRecords is how many records are read at a time.
const partRecords = 2048

// walker goes through the records in order and puts together what the readers have found
// out about each of them.
type walker struct {
	*verifier
	next        int64 // position
	versions    map[string]int64
	tree        proof.Frontier
	hashes      []tlog.Hash // of one leaf, reused
	stored      treeReader
	checkpoints checkpointReader
	proven      int64    // records up to here are under a checkpoint that fits
	doubt       *Finding // where the stored tree and the records part, after proven
	treeFault   *Finding // the first one
	broken      *Finding // ends the walk
}

// walk reads all records, several parts at a time, and checks them in order. It ends at the
// first one that is not what it was: of what follows, nothing could be said.
func (v *verifier) walk(ctx context.Context) error {
	w := &walker{verifier: v, next: 1, versions: map[string]int64{}, stored: newTreeReader(v), checkpoints: checkpointReader{log: v.log, after: math.MinInt64}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for p := range v.parts(ctx) {
		err := p.err
		for i := range p.rows {
			if err != nil || w.broken != nil {
				break
			}
			err = w.record(ctx, &p.rows[i])
		}
		if err != nil {
			return err
		}
		v.report.Blobs += p.blobs
		if v.o.Progress != nil {
			v.o.Progress(w.next-1, v.bounds.Last)
		}
		if w.broken != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.end()
	return nil
}

// parts returns the examined records in order. Readers are ahead by as many parts as there
// are readers.
func (v *verifier) parts(ctx context.Context) func(yield func(part) bool) {
	return func(yield func(part) bool) {
		ctx, stop := context.WithCancel(ctx)
		queue := make(chan chan part, v.o.Parallel)
		ended := make(chan struct{})
		defer func() { stop(); <-ended }()
		go func() {
			defer close(ended)
			defer close(queue)
			v.read(ctx, queue)
		}()
		for result := range queue {
			if !yield(<-result) {
				return
			}
		}
	}
}

// read puts the results of readers into the queue, in order, and waits for all readers.
func (v *verifier) read(ctx context.Context, queue chan<- chan part) {
	var readers sync.WaitGroup
	defer readers.Wait()
	for after := int64(0); after < v.bounds.Last; after += partRecords {
		upTo := min(after+partRecords, v.bounds.Last)
		result := make(chan part, 1)
		select {
		case queue <- result:
		case <-ctx.Done():
			return
		}
		readers.Go(func() { result <- v.examine(ctx, after, upTo) })
	}
}

// record checks one record against those before it, and against the tree.
func (w *walker) record(ctx context.Context, e *examined) error {
	if e.position < w.next {
		w.broken = &Finding{Inserted, e.position, e.position, e.name() + " is not the only one at its place"}
		return nil
	}
	if e.position != w.next {
		w.broken = &Finding{Missing, w.next, e.position - 1, fmt.Sprintf("position %d is followed by %d", w.next-1, e.position)}
		return nil
	}
	first := tlog.StoredHashCount(w.tree.Size())
	w.hashes = w.tree.Append(w.hashes[:0], e.leaf)
	if w.next <= w.bounds.Sealed {
		if err := w.compare(ctx, e, first); err != nil {
			return err
		}
	}
	switch last := w.versions[e.stream]; {
	case w.broken != nil || w.doubt != nil: // that comes first
	case e.kind != "":
		w.broken = &Finding{e.kind, e.position, e.position, e.name() + ": " + e.text}
	case e.version > last+1:
		w.broken = &Finding{Missing, e.position, e.position, fmt.Sprintf("version %d of %s is followed by version %d at record %d", last, e.stream, e.version, e.position)}
	case e.version != last+1:
		w.broken = &Finding{Inserted, e.position, e.position, fmt.Sprintf("version %d of %s is followed by version %d at record %d", last, e.stream, e.version, e.position)}
	}
	if w.broken != nil {
		return nil
	}
	w.versions[e.stream] = e.version
	if e.erased {
		w.report.Erased++
	}
	if e.position <= w.bounds.Indexed {
		w.walked.Add(e.stream, e.version, e.position)
	}
	w.next++
	return w.roots(ctx)
}

// compare holds the hashes that a record has brought against the stored ones.
func (w *walker) compare(ctx context.Context, e *examined, first int64) error {
	for i, h := range w.hashes {
		stored, ok, err := w.stored.at(ctx, first+int64(i))
		if err != nil {
			return err
		}
		if stored == h && ok || w.doubt != nil {
			continue
		}
		f := Finding{Tree, e.position, e.position, fmt.Sprintf("hash %d of the stored tree, above record %d, is not what the records add up to", first+int64(i), e.position)}
		switch {
		case !ok:
			f.Text = fmt.Sprintf("hash %d of the stored tree, above record %d, is missing", first+int64(i), e.position)
		case i == 0:
			if f, err = w.classify(ctx, e); err != nil {
				return err
			}
		}
		w.doubt = &f
	}
	return nil
}

// roots holds the root over the records so far against what was signed about just as many.
func (w *walker) roots(ctx context.Context) error {
	size := w.tree.Size()
	if size <= w.bounds.Sealed {
		root, ok, err := w.checkpoints.at(ctx, size)
		if err != nil {
			return err
		}
		switch {
		case ok:
			w.root(root, "the checkpoint")
		case w.doubt == nil && w.treeFault == nil && w.stored.shortTo(tlog.StoredHashCount(size)):
			w.treeFault = &Finding{Signature, size, size, fmt.Sprintf("the log was sealed at %d records, and the checkpoint for that is missing", size)}
		}
	}
	for len(w.kept) > 0 && w.kept[0].Size == size && w.broken == nil {
		w.root(w.kept[0].Root, "the checkpoint that was kept elsewhere")
		w.kept = w.kept[1:]
		if w.broken == nil {
			w.report.Kept = append(w.report.Kept, size)
		}
	}
	return nil
}

func (w *walker) root(signed tlog.Hash, what string) {
	size := w.tree.Size()
	fits := w.tree.Root() == signed
	switch {
	case fits && w.doubt != nil: // then it is the stored tree that was changed
		if w.treeFault == nil {
			w.treeFault = &Finding{Tree, w.doubt.First, w.doubt.First, fmt.Sprintf("the stored tree was changed above record %d; the record is the one that was sealed", w.doubt.First)}
			if w.doubt.Kind == Tree {
				w.treeFault = w.doubt
			}
		}
		w.doubt, w.proven = nil, size
	case fits:
		w.proven = size
	case w.doubt != nil:
		w.broken = w.doubt
	default:
		first := w.proven + 1
		if first > size { // two checkpoints contradict each other: only those from elsewhere prove anything
			first = 1
			for _, fit := range w.report.Kept {
				if fit < size {
					first = fit + 1
				}
			}
		}
		w.broken = &Finding{Altered, first, size, fmt.Sprintf("the records %d to %d, or some of them, are not those of %s for %d records; the stored tree was changed with them", first, size, what, size)}
	}
}

// end reports what the walk has found.
func (w *walker) end() {
	w.report.Verified = w.next - 1
	if w.broken == nil && w.doubt != nil {
		w.broken = w.doubt
	}
	if w.broken != nil {
		w.report.Verified = min(w.report.Verified, w.broken.First-1)
		w.add(*w.broken)
	} else if w.report.Streams = len(w.versions); w.next <= w.bounds.Last {
		w.add(Finding{Missing, w.next, w.bounds.Last, fmt.Sprintf("position %d is followed by nothing, and the log ends with %d", w.next-1, w.bounds.Last)})
	}
	if w.treeFault == nil && w.stored.fault != "" {
		w.treeFault = &Finding{Tree, 0, 0, w.stored.fault}
	}
	if w.treeFault != nil {
		w.add(*w.treeFault)
	}
}
