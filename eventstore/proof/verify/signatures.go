package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
	"hecate/eventstore/proof"
)

// signaturePage is how many checkpoints are read at a time.
const signaturePage = 512

// signatures checks those of all checkpoints of the log, and names the first that is wrong.
func (v *verifier) signatures(ctx context.Context, keys keyring) ([]Finding, error) {
	var mu sync.Mutex
	var findings []Finding
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(v.o.Parallel)
	for after := int64(math.MinInt64); ; {
		page, err := v.log.Checkpoints(ctx, after, signaturePage)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 || page[0].Size > v.bounds.Sealed {
			break
		}
		after = page[len(page)-1].Size
		g.Go(func() error {
			for _, c := range page {
				if text := v.signature(c, keys); text != "" {
					mu.Lock()
					defer mu.Unlock()
					findings = append(findings, Finding{Signature, c.Size, c.Size, text})
					break // the first of the page
				}
			}
			return ctx.Err()
		})
		v.report.Checkpoints += len(page)
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if v.report.Checkpoints == 0 && v.bounds.Last > 0 && len(v.o.Keys) > 0 {
		return []Finding{{Signature, 0, 0, "a key was given, so the log was sealed, and it has no checkpoint: the seal was taken out"}}, nil
	}
	if len(findings) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(findings, func(a, b Finding) int { return int(min(max(a.First-b.First, -1), 1)) })
	return []Finding{first}, nil
}

// signature says what is wrong with a checkpoint of the log itself.
func (v *verifier) signature(c eventstore.Checkpoint, keys keyring) string {
	public := keys.at(c.Size)
	head, err := proof.Open(c.Note, public)
	switch {
	case err != nil:
		return fmt.Sprintf("the checkpoint for %d records: %v", c.Size, err)
	case head.Origin != v.origin:
		return fmt.Sprintf("the checkpoint for %d records is about %.100q, and this log is %q", c.Size, head.Origin, v.origin)
	case head.Size != c.Size:
		return fmt.Sprintf("the checkpoint for %d records is about %d", c.Size, head.Size)
	}
	if i := keys.terms.Index(public); i >= 0 && (c.Size < keys.terms[i].From || c.Size > keys.terms.Until(i)) {
		return fmt.Sprintf("the checkpoint for %d records is signed by a key at a time when another one signed: %.200s", c.Size, public)
	}
	return ""
}
