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
	"hecate/eventstore/proof/stored"
)

// signaturePage is how many checkpoints are read at a time.
const signaturePage = 512

// keys returns the keys to check signatures with: the one from elsewhere, or what the log
// says itself.
func (v *verifier) keys(ctx context.Context) ([]stored.Key, error) {
	own, err := v.log.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 && v.bounds.Sealed > 0 {
		v.add(Finding{Signature, 0, 0, "the log is sealed and names no key"})
	}
	switch {
	case v.o.Key != "":
		v.report.Key = v.o.Key
		if len(own) > 0 && (own[0].Public != v.o.Key || len(own) > 1) {
			v.add(Finding{Signature, 0, 0, fmt.Sprintf("the log names another key than the given one: %.200s", own[len(own)-1].Public)})
		}
		return []stored.Key{{Public: v.o.Key}}, nil
	case len(own) > 0:
		v.report.Key = own[len(own)-1].Public
	}
	return own, nil
}

// keyFor is the key that signs a tree of that size.
func keyFor(keys []stored.Key, size int64) (public string) {
	for _, k := range keys {
		if k.Since <= size {
			public = k.Public
		}
	}
	return public
}

// signatures checks those of all checkpoints of the log, and names the first that is wrong.
func (v *verifier) signatures(ctx context.Context, keys []stored.Key) ([]Finding, error) {
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
		if v.report.Checkpoints == 0 && len(keys) > 0 && v.o.Key == "" && keys[0].Since != page[0].Size {
			findings = append(findings, Finding{Signature, 0, 0, fmt.Sprintf("the key is said to be in use since size %d, and the first checkpoint is for %d records", keys[0].Since, page[0].Size)})
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
	if err := g.Wait(); err != nil || len(findings) == 0 {
		return nil, err
	}
	first := slices.MinFunc(findings, func(a, b Finding) int { return int(min(max(a.First-b.First, -1), 1)) })
	return []Finding{first}, nil
}

// signature says what is wrong with a checkpoint of the log itself.
func (v *verifier) signature(c eventstore.Checkpoint, keys []stored.Key) string {
	head, err := proof.Open(c.Note, keyFor(keys, c.Size))
	switch {
	case err != nil:
		return fmt.Sprintf("the checkpoint for %d records: %v", c.Size, err)
	case head.Origin != v.origin:
		return fmt.Sprintf("the checkpoint for %d records is about %.100q, and this log is %q", c.Size, head.Origin, v.origin)
	case head.Size != c.Size:
		return fmt.Sprintf("the checkpoint for %d records is about %d", c.Size, head.Size)
	}
	return ""
}
