package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
)

// hashPage is how many hashes of the tree are read at a time.
const hashPage = 1000

// Selection is what to export.
type Selection struct {
	Asked      string // in words
	From, To   int64  // positions, if a stretch of the log is asked for
	Records    iter.Seq2[stored.Row, error]
	Checkpoint []byte // to prove the records against; the newest one of the log if nil
	MadeBy     string
}

// writer is one export under way.
type writer struct {
	zip      *zip.Writer
	log      *stored.Log
	manifest Manifest
	needed   map[int64]bool // hashes of the tree
	contents []content
	refs     map[string]bool
	erasedBy map[int64]bool // records that say what was erased
}

// Write writes an export, and returns what it says of itself. Records that are not sealed
// yet are in it without a proof.
func Write(ctx context.Context, to io.Writer, log *stored.Log, s Selection) (Manifest, error) {
	w := &writer{zip: zip.NewWriter(to), log: log, needed: map[int64]bool{}, refs: map[string]bool{}, erasedBy: map[int64]bool{}}
	w.manifest = Manifest{Format: Format, Asked: s.Asked, From: s.From, To: s.To, MadeBy: s.MadeBy}
	if err := w.write(ctx, s); err != nil {
		return w.manifest, fmt.Errorf("export %s: %w", s.Asked, err)
	}
	return w.manifest, nil
}

func (w *writer) write(ctx context.Context, s Selection) (err error) {
	if w.manifest.LogID, err = w.log.ID(ctx); err != nil {
		return err
	}
	if err := w.text(nameReadme, readme); err != nil {
		return err
	}
	if err := w.checkpoint(ctx, s.Checkpoint); err != nil {
		return err
	}
	if err := w.records(s.Records); err != nil {
		return err
	}
	if err := w.erasures(ctx); err != nil {
		return err
	}
	if err := w.tree(ctx); err != nil {
		return err
	}
	if err := w.blobs(ctx); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(w.manifest, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(w.text(nameManifest, string(raw)+"\n"), w.zip.Close())
}

// made is the time of each member: the earliest that an archive can tell, so that the same
// records make the same file.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *writer) create(name string) (io.Writer, error) {
	return w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made})
}

func (w *writer) text(name, text string) error {
	f, err := w.create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return err
}

// checkpoint writes what the records are proven against, and the keys.
func (w *writer) checkpoint(ctx context.Context, given []byte) error {
	if given == nil {
		newest, err := w.log.Newest(ctx)
		if err != nil {
			return err
		}
		if newest.Size == 0 {
			return errors.New("nothing is sealed yet; a server seals what is in its log about once a second")
		}
		given = newest.Note
	}
	head, err := proof.Read(given)
	if err != nil {
		return err
	}
	if want := proof.Origin(w.manifest.LogID); head.Origin != want {
		return fmt.Errorf("the checkpoint is about %.100q, not about %q", head.Origin, want)
	}
	w.manifest.Size = head.Size
	return errors.Join(w.text(nameCheckpoint, string(given)), w.keys(ctx))
}

func (w *writer) records(rows iter.Seq2[stored.Row, error]) error {
	f, err := w.create(nameRecords)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // the data stands there byte by byte
	for row, err := range rows {
		if err != nil {
			return err
		}
		if row.Odd != "" {
			return fmt.Errorf("record %d: %s; see: hecate audit verify", row.Position, row.Odd)
		}
		if err := lines.Encode(lineOf(row.Record)); err != nil {
			return err
		}
		w.manifest.Records++
		if row.Erased != 0 {
			w.erasedBy[row.Erased] = true
		}
		for _, ref := range verify.Refs(row.Record) {
			w.refs[ref.Digest] = true
		}
		if row.Position >= 1 && row.Position <= w.manifest.Size {
			w.need(row.Position)
		}
	}
	return out.Flush()
}

// need remembers which hashes lead from a record to the root.
func (w *writer) need(position int64) {
	_, _ = tlog.ProveRecord(w.manifest.Size, position-1, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		for _, i := range indexes {
			w.needed[i] = true
		}
		return make([]tlog.Hash, len(indexes)), nil // only asked for which they are
	}))
}

func (w *writer) tree(ctx context.Context) error {
	f, err := w.create(nameTree)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	indexes := make([]int64, 0, len(w.needed))
	for i := range w.needed {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for page := range slices.Chunk(indexes, hashPage) {
		hashes, err := w.log.TreeHashes(ctx, page)
		if err != nil {
			return err
		}
		for i, h := range hashes {
			if h == [32]byte{} {
				return fmt.Errorf("hash %d of the tree is missing; see: hecate audit verify", page[i])
			}
			if _, err := fmt.Fprintf(out, "%d %x\n", page[i], h); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// blobs writes the large contents that the records refer to. One that is gone is left out:
// the records say that it was there.
func (w *writer) blobs(ctx context.Context) error {
	digests := make([]string, 0, len(w.refs))
	for d := range w.refs {
		digests = append(digests, d)
	}
	slices.Sort(digests)
	for _, digest := range digests {
		blob, err := w.log.Blob(ctx, digest)
		if errors.Is(err, eventstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := w.text(contentFolder+digest, string(blob.Content)); err != nil {
			return err
		}
		w.contents = append(w.contents, content{digest, hex.EncodeToString(blob.Salt[:]), blob.Size, blob.MediaType})
	}
	w.manifest.Contents = int64(len(w.contents))
	f, err := w.create(nameContents)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, c := range w.contents {
		if err := lines.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

const readme = `This is a part of the log of a Hecate server, with the proof that it is unchanged.

  hecate audit verify THIS-FILE --key KEY

checks it on any machine, without the server. KEY is a public key of the log, an earlier one will do; take
it from where it was kept, not from this file, if whoever made the file could have made it up.

records.jsonl    one record a line, stream by stream, as it was hashed
erasures.jsonl   the records that say what of it was erased, if anything was
contents/        large texts, by the digest that records name
contents.jsonl   what their digests are made of: SHA-256 over salt and content
checkpoint.txt   how many records the log had, and the root of the tree over them, signed
key.txt          the public key that the checkpoint is signed under
keys.jsonl       the records that changed the key of the log, if there are any
tree.txt         hashes of the tree (RFC 6962), as many as lead from the records to the root
manifest.json    what was asked for

The hash of a record is SHA-256 over its fields in a fixed form; the leaf of the tree is made
of that hash, and its index is the position less one. The documentation of Hecate, docs/audit.md,
has the details, enough to write a program that checks this file.
`
