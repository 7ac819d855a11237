package verify

import (
	"cmp"
	"context"
	"fmt"

	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// keyPage is how many records about keys are read at a time.
const keyPage = 500

// Key is one key of a log.
type Key struct {
	Public   string `json:"key"`
	Since    int64  `json:"since"`              // records under the first checkpoint that it has signed; 0 if there is none yet
	Named    int64  `json:"named_by,omitempty"` // position of the record that names it; 0 for the first key
	Replaced bool   `json:"replaced,omitempty"` // it took the place of a lost key, which does not vouch for it
	Reason   string `json:"reason,omitempty"`   // what was said about that
}

// Notice is something that is not wrong, and that whoever verifies a log should know.
type Notice struct {
	First int64  `json:"first"` // position
	Text  string `json:"text"`  // one sentence
}

// keyring is what checkpoints are checked with.
type keyring struct {
	rows  []eventstore.LogKey // which key signs beginning with which size, as a table says
	terms proof.Terms         // which one may, as the records say
}

// at is the key that signs a tree of that size.
func (k keyring) at(size int64) (public string) {
	for _, row := range k.rows {
		if row.Since <= size {
			public = row.Public
		}
	}
	return public
}

// since is the size of the first tree that a key is said to have signed, 0 if it has not.
func (k keyring) since(public string) int64 {
	for _, row := range k.rows {
		if row.Public == public {
			return row.Since
		}
	}
	return 0
}

// open reads a checkpoint that one of the keys has signed: the one of its size, if it can be.
func (k keyring) open(raw []byte, given []string) (proof.Head, error) {
	head, err := proof.Read(raw)
	if err != nil {
		return head, err
	}
	opened, err := proof.Open(raw, cmp.Or(k.at(head.Size), first(given)))
	for _, public := range given {
		if err == nil {
			break
		}
		if other, failed := proof.Open(raw, public); failed == nil {
			opened, err = other, nil
		}
	}
	return opened, err
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// keys reads which keys the log names, and says what is wrong with that.
func (v *verifier) keys(ctx context.Context) (k keyring, err error) {
	if k.rows, err = v.log.Keys(ctx); err != nil {
		return k, err
	}
	changes, err := v.keyChanges(ctx)
	if err != nil {
		return k, err
	}
	if len(k.rows) == 0 && v.bounds.Sealed > 0 {
		v.add(Finding{Signature, 0, 0, "the log is sealed and names no key"})
	}
	if len(k.rows) == 0 && len(v.o.Keys) > 0 {
		k.rows = []eventstore.LogKey{{Public: v.o.Keys[0]}}
	} else if err := v.keyRows(ctx, k.rows); err != nil {
		return k, err
	}
	begin := ""
	if len(changes) == 0 && len(k.rows) > 0 {
		begin = k.rows[0].Public
	}
	terms, doubts := proof.TermsOf(v.origin, begin, changes)
	for _, d := range doubts {
		v.add(Finding{Signature, d.Position, d.Position, fmt.Sprintf("record %d, which is about the key of the log: %v", d.Position, d.Err)})
	}
	k.terms = terms
	v.ownKeys(k)
	v.report.Notices = append(v.report.Notices, NoticesOf(k.terms, v.o.Keys, v.add)...)
	v.reportKeys(k)
	return k, nil
}

// Keys returns the keys of a log, and what about them does not hold together. Of the log it
// reads nothing else: whether the records that name them are sound, Log says.
func Keys(ctx context.Context, log *stored.Log) ([]Key, []Finding, error) {
	v := &verifier{log: log}
	err := v.begin(ctx)
	if err == nil {
		_, err = v.keys(ctx)
	}
	return v.report.Keys, v.report.Findings, err
}

// keyChanges reads the records that name keys.
func (v *verifier) keyChanges(ctx context.Context) (changes []eventstore.Record, err error) {
	for {
		rows, err := v.log.StreamRows(ctx, logkey.Stream, int64(len(changes)), keyPage)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.Position <= v.bounds.Last {
				changes = append(changes, r.Record)
			}
		}
		if len(rows) < keyPage {
			return changes, nil
		}
	}
}

// keyRows looks whether each key has signed the first checkpoint that it is said to have signed.
func (v *verifier) keyRows(ctx context.Context, rows []eventstore.LogKey) error {
	for _, row := range rows {
		if row.Since > v.bounds.Sealed { // of a server that goes on sealing; else it is missed before that
			continue
		}
		next, err := v.log.Checkpoints(ctx, row.Since-1, 1)
		if err != nil {
			return err
		}
		if len(next) == 0 || next[0].Size != row.Since {
			v.add(Finding{Signature, 0, 0, fmt.Sprintf("a key is said to sign since size %d, and there is no checkpoint of that size", row.Since)})
		}
	}
	return nil
}

// ownKeys holds the keys that sign against those that the records of the log name.
func (v *verifier) ownKeys(k keyring) {
	last := -1
	for _, row := range k.rows {
		i := k.terms.Index(row.Public)
		switch {
		case i < 0:
			v.add(Finding{Signature, row.Since, row.Since, fmt.Sprintf("the log is said to be sealed since size %d under a key that none of its records names: %.200s", row.Since, row.Public)})
		case i <= last:
			v.add(Finding{Signature, row.Since, row.Since, fmt.Sprintf("the log is said to be sealed since size %d under a key that signed before another one: %.200s", row.Since, row.Public)})
		}
		last = max(last, i)
	}
	if len(k.terms) > 0 {
		v.givenKeys(k.terms)
	}
}

// givenKeys holds the keys from elsewhere against those of the log. One that is missing where
// another one is there was the log's once.
func (v *verifier) givenKeys(terms proof.Terms) {
	known := terms.Known(v.o.Keys)
	for _, given := range v.o.Keys {
		switch {
		case len(known) == 0:
			v.add(Finding{Signature, 0, 0, fmt.Sprintf("the log names another key than the given one: %.200s; if this is from before the key that you gave was made, give the earlier one instead", terms[len(terms)-1].Public)})
		case terms.Index(given) < 0:
			v.add(Finding{Rewound, 0, 0, fmt.Sprintf("the log knows nothing of a key that was given, %.200s: it is an earlier state of itself, or that key is another log's", given)})
		}
	}
}

// NoticesOf tells of keys that took the place of lost ones. One that the given keys do not
// speak for is a finding; without given keys the log is held against itself, and there is none.
func NoticesOf(terms proof.Terms, given []string, add func(Finding)) (notices []Notice) {
	var unvouched *proof.Term
	if len(terms.Known(given)) > 0 {
		unvouched = terms.Unvouched(given)
	}
	for i := range terms {
		t := &terms[i]
		if !t.Replaced {
			continue
		}
		text := fmt.Sprintf("trees of more than %d records are signed by another key, without the word of the one before, which was lost, it says in record %d (%.600s): %.200s",
			t.From-1, t.Named, t.Reason, t.Public)
		if t == unvouched {
			add(Finding{Signature, t.Named, t.Named, text + "; if you know that key to be right, give it as well"})
			continue
		}
		notices = append(notices, Notice{t.Named, text})
	}
	return notices
}

// reportKeys says which keys there are.
func (v *verifier) reportKeys(k keyring) {
	for _, t := range k.terms {
		v.report.Keys = append(v.report.Keys, Key{t.Public, k.since(t.Public), t.Named, t.Replaced, t.Reason})
	}
	if n := len(k.rows); n > 0 {
		v.report.Key = k.rows[n-1].Public
	}
}
