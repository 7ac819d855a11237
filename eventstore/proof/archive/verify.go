package archive

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/verify"
)

// Report is what was found in an export.
type Report struct {
	Manifest Manifest         `json:"manifest"`
	Records  int64            `json:"records"`
	Unsealed int64            `json:"unsealed"` // records behind the checkpoint: nothing but their hash speaks for them
	Contents int64            `json:"contents"`
	Erased   int64            `json:"erased"` // records whose data was erased, and that say so
	Erasures []verify.Erased  `json:"erasures,omitempty"`
	Versions map[string]int64 `json:"versions"` // how far each stream goes in it
	Key      string           `json:"key"`      // that the checkpoint is signed under
	Kept     []int64          `json:"kept"`     // sizes of the checkpoints from elsewhere that are the export's own
	Other    []int64          `json:"other"`    // sizes of those that it cannot be held against
	Notices  []verify.Notice  `json:"notices,omitempty"`
	Findings []verify.Finding `json:"findings"` // in order of position
}

// Sound reports whether nothing was found.
func (r Report) Sound() bool { return len(r.Findings) == 0 }

// leaf is what is kept of a record until the tree is known.
type leaf struct {
	position int64
	name     string
	hash     tlog.Hash
}

// checker is one verification under way.
type checker struct {
	file   *file
	report Report
	head   proof.Head
	terms  proof.Terms // as far as they are under the checkpoint
	leaves []leaf
	seen   map[int64]bool
	refs   map[string]eventRef
	named  *verify.Named

	unsigned bool // the checkpoint
}

// eventRef is a reference to a large content, and the first record that has it.
type eventRef struct {
	size      int64
	mediaType string
	position  int64
}

// Verify checks an export. keys are public keys from elsewhere; none for the one in the file.
// An error means that the file is no export or cannot be read; what is wrong with what it
// says is in the report.
func Verify(r io.ReaderAt, size int64, keys []string, kept [][]byte) (Report, error) {
	f, err := open(r, size)
	if err != nil {
		return Report{}, err
	}
	c := &checker{file: f, seen: map[int64]bool{}, refs: map[string]eventRef{}}
	c.report = Report{Manifest: f.manifest, Key: f.key, Versions: map[string]int64{}}
	if err := c.checkpoint(keys, kept); err != nil {
		return c.report, err
	}
	if err := c.erasures(); err != nil {
		return c.report, err
	}
	if err := f.records(c.record); err != nil {
		return c.report, err
	}
	c.complete()
	if !c.unsigned { // what nobody has signed proves nothing
		if err := c.proofs(); err != nil {
			return c.report, err
		}
	}
	if err := c.contents(); err != nil {
		return c.report, err
	}
	slices.SortStableFunc(c.report.Findings, func(a, b verify.Finding) int { return cmp.Compare(a.First, b.First) })
	return c.report, nil
}

func (c *checker) add(kind verify.Kind, position int64, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, verify.Finding{Kind: kind, First: position, Last: position, Text: fmt.Sprintf(format, args...)})
}

// checkpoint checks the signature, and compares with what was kept elsewhere.
func (c *checker) checkpoint(keys []string, kept [][]byte) error {
	raw, err := c.file.checkpoint()
	if err != nil {
		return err
	}
	if c.head, err = proof.Read(raw); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	if err := c.keys(keys); err != nil {
		return err
	}
	origin := proof.Origin(c.report.Manifest.LogID)
	if _, err := proof.Open(raw, c.report.Key); err != nil {
		c.unsigned = true
		c.add(verify.Signature, 0, "the checkpoint: %v", err)
	} else if c.head.Origin != origin {
		c.add(verify.Signature, 0, "the checkpoint is about %.100q, and the export about %.100q", c.head.Origin, origin)
	}
	if c.head.Size != c.report.Manifest.Size {
		c.add(verify.Signature, 0, "the checkpoint is about %d records, and the manifest says %d", c.head.Size, c.report.Manifest.Size)
	}
	for _, k := range kept {
		head, err := c.signed(k)
		switch {
		case err != nil:
			c.add(verify.Signature, 0, "a checkpoint that was kept elsewhere: %v", err)
		case head.Size != c.head.Size:
			c.report.Other = append(c.report.Other, head.Size)
		case head != c.head:
			c.add(verify.Altered, 0, "the checkpoint that was kept elsewhere for %d records has another root", head.Size)
		default:
			c.report.Kept = append(c.report.Kept, head.Size)
		}
	}
	return nil
}

// record checks one record by itself and against those of its stream.
func (c *checker) record(r eventstore.Record) error {
	if r.Position < 1 || r.Version < 1 || c.seen[r.Position] {
		return fmt.Errorf("%w: record %d is there twice, or has no place", ErrForm, r.Position)
	}
	c.seen[r.Position] = true
	c.report.Records++
	name := fmt.Sprintf("record %d (%s version %d)", r.Position, r.Stream, r.Version)
	if eventstore.Hash(r) != r.Hash {
		c.add(verify.Altered, r.Position, "%s: what it says does not match its hash", name)
	}
	last, known := c.report.Versions[r.Stream]
	if r.Version != last+1 && (known || c.report.Manifest.From == 0) {
		c.add(verify.Missing, r.Position, "version %d of %.200s is followed by version %d", last, r.Stream, r.Version)
	}
	c.report.Versions[r.Stream] = r.Version
	if text := c.named.Check(&r); text != "" {
		c.add(verify.Erasure, r.Position, "%s: %s", name, text)
	} else if r.Erased != 0 {
		c.report.Erased++
	}
	for _, ref := range verify.Refs(r) {
		if _, known := c.refs[ref.Digest]; !known {
			c.refs[ref.Digest] = eventRef{ref.Size, ref.MediaType, r.Position}
		}
	}
	if r.Position > c.head.Size {
		c.report.Unsealed++
		return nil
	}
	c.leaves = append(c.leaves, leaf{r.Position, name, proof.Leaf(eventstore.Hash(r))})
	return nil
}

// complete looks whether all is there that the manifest says.
func (c *checker) complete() {
	m := c.report.Manifest
	if m.Records != c.report.Records {
		c.add(verify.Missing, 0, "the manifest says %d records, and there are %d", m.Records, c.report.Records)
	}
	if m.From == 0 && m.To == 0 {
		return
	}
	if m.To-m.From+1 != c.report.Records {
		c.add(verify.Missing, 0, "records %d to %d were asked for, and there are %d", m.From, m.To, c.report.Records)
	}
	for p := m.From; p <= m.To; p++ {
		if !c.seen[p] {
			c.add(verify.Missing, p, "record %d is missing", p)
			return
		}
	}
}

// proofs follows the way from each record to the root.
func (c *checker) proofs() error {
	hashes, err := c.file.tree(int64(len(c.leaves)))
	if err != nil {
		return err
	}
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			h, ok := hashes[index]
			if !ok {
				return nil, fmt.Errorf("hash %d of the tree is missing", index)
			}
			out[i] = h
		}
		return out, nil
	})
	for _, l := range c.leaves {
		way, err := tlog.ProveRecord(c.head.Size, l.position-1, reader)
		if err != nil {
			c.add(verify.Tree, l.position, "%s cannot be led to the checkpoint: %v", l.name, err)
			continue
		}
		if tlog.CheckRecord(way, c.head.Size, c.head.Root, l.position-1, l.hash) != nil {
			c.add(verify.Altered, l.position, "%s is not the one that was sealed", l.name)
		}
	}
	return nil
}

// contents checks the large contents against the records that name them.
func (c *checker) contents() error {
	described, err := c.file.described()
	if err != nil {
		return err
	}
	if n := c.file.contents(); n != len(described) {
		c.add(verify.Content, 0, "there are %d large contents, and %d are described", n, len(described))
	}
	for digest, d := range described {
		ref, named := c.refs[digest]
		if !named {
			c.add(verify.Inserted, 0, "no record names content %s", digest)
			continue
		}
		ok, err := c.file.content(d)
		if err != nil {
			return err
		}
		if !ok || d.Size != ref.size || d.MediaType != ref.mediaType {
			c.add(verify.Content, ref.position, "record %d: its content %s is not what it was", ref.position, digest)
		}
		c.report.Contents++
	}
	for digest, ref := range c.refs {
		if _, ok := described[digest]; !ok && c.named.Content(digest) == 0 {
			c.add(verify.Content, ref.position, "record %d: its content %.100s is missing", ref.position, digest)
		}
	}
	return nil
}
