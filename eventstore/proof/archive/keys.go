package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/verify"
)

// keys writes the key that the checkpoint is signed under, and the records that lead to it
// from the keys before: whoever has kept one of those needs no other.
func (w *writer) keys(ctx context.Context) error {
	rows, err := w.log.Keys(ctx)
	if err != nil {
		return err
	}
	public := ""
	for _, k := range rows {
		if k.Since <= w.manifest.Size {
			public = k.Public
		}
	}
	if public == "" {
		return errors.New("the log names no key")
	}
	changes, err := w.log.StreamRows(ctx, logkey.Stream, 0, changesMax)
	if err != nil {
		return err
	}
	var records []eventstore.Record
	for _, r := range changes {
		if r.Position <= w.manifest.Size {
			w.need(r.Position)
			records = append(records, r.Record)
		}
	}
	if err := w.text(nameKey, public+"\n"); err != nil || len(records) == 0 {
		return err
	}
	f, err := w.create(nameKeys)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	lines.SetEscapeHTML(false)
	for _, r := range records {
		if err := lines.Encode(lineOf(r)); err != nil {
			return err
		}
	}
	return nil
}

// keys reads which keys the log had, and says what is wrong with that.
func (c *checker) keys(given []string) error {
	var changes []eventstore.Record
	if c.file.members[nameKeys] != nil {
		err := c.file.recordsOf(nameKeys, func(r eventstore.Record) error {
			if len(changes) >= changesMax {
				return fmt.Errorf("%w: %s has more than %d records", ErrForm, nameKeys, changesMax)
			}
			changes = append(changes, r)
			return c.change(r, int64(len(changes)))
		})
		if err != nil {
			return err
		}
	}
	begin := ""
	if len(changes) == 0 {
		begin = c.file.key
	}
	terms, doubts := proof.TermsOf(proof.Origin(c.report.Manifest.LogID), begin, changes)
	for _, d := range doubts {
		c.add(verify.Signature, d.Position, "record %d, which is about the key of the log: %v", d.Position, d.Err)
	}
	if len(given) > 0 && len(terms.Known(given)) == 0 { // those of later times are no business of an export
		c.add(verify.Signature, 0, "the export names another key than the given one: %.200s; if this is from before the key that you gave was made, give the earlier one, too", c.file.key)
	}
	c.report.Notices = verify.NoticesOf(terms, given, func(f verify.Finding) { c.report.Findings = append(c.report.Findings, f) })
	size := c.head.Size
	if i := terms.Index(c.file.key); i < 0 || size < terms[i].From || size > terms.Until(i) {
		c.add(verify.Signature, 0, "the checkpoint for %d records is said to be signed by a key that did not sign then: %.200s", size, c.file.key)
	}
	c.terms = terms
	return nil
}

// change checks a record that names a key, by itself.
func (c *checker) change(r eventstore.Record, version int64) error {
	if r.Stream != logkey.Stream || r.Version != version || r.Position < 1 {
		return fmt.Errorf("%w: %s holds record %d (%.200s version %d)", ErrForm, nameKeys, r.Position, r.Stream, r.Version)
	}
	name := fmt.Sprintf("record %d (%s version %d)", r.Position, r.Stream, r.Version)
	if eventstore.Hash(r) != r.Hash {
		c.add(verify.Altered, r.Position, "%s: what it says does not match its hash", name)
	}
	if r.Position > c.head.Size {
		c.add(verify.Inserted, r.Position, "%s is not under the checkpoint", name)
		return nil
	}
	c.leaves = append(c.leaves, leaf{r.Position, name, proof.Leaf(eventstore.Hash(r))})
	return nil
}

// signed reads a checkpoint that any of the log's keys has signed.
func (c *checker) signed(raw []byte) (head proof.Head, err error) {
	keys := []string{c.file.key}
	for _, t := range slices.Backward(c.terms) {
		if t.Public != c.file.key {
			keys = append(keys, t.Public)
		}
	}
	var failed error
	for _, public := range keys {
		if head, err = proof.Open(raw, public); err == nil {
			return head, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return head, failed
}
