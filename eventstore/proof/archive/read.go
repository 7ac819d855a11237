package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/proof"
)

// Limits of what is read of a file that somebody hands in.
const (
	membersMax  = 1 << 20
	manifestMax = 64 << 10
	keyMax      = 1 << 10
	changesMax  = 1000        // of the key
	lineMax     = 4 << 20     // bytes; data of 1 MiB, in base64, and the rest of a record
	hashesMax   = 64          // of the tree for each record: no tree is higher
	treeLineMax = 20 + 1 + 64 // an index, a space and a hash
	contentMax  = eventstore.BlobMax
)

// file is an opened export.
type file struct {
	members  map[string]*zip.File
	manifest Manifest
	key      string
}

// open reads the directory of an export. Nothing is ever written by the names in it.
func open(r io.ReaderAt, size int64) (*file, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if len(z.File) > membersMax {
		return nil, fmt.Errorf("%w: it has %d members", ErrForm, len(z.File))
	}
	f := &file{members: map[string]*zip.File{}}
	for _, m := range z.File {
		if !known(m.Name) || f.members[m.Name] != nil || m.Method != zip.Store && m.Method != zip.Deflate {
			return nil, fmt.Errorf("%w: it has a member %.100q that does not belong there", ErrForm, m.Name)
		}
		f.members[m.Name] = m
	}
	raw, err := f.small(nameManifest, manifestMax)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &f.manifest); err != nil || f.manifest.Format != Format {
		return nil, fmt.Errorf("%w: its format is %.100q, this build reads %s", ErrForm, f.manifest.Format, Format)
	}
	if raw, err = f.small(nameKey, keyMax); err != nil {
		return nil, err
	}
	f.key = strings.TrimSpace(string(raw))
	return f, nil
}

// Origins returns the names that an export goes by: of the log that it says it is of, and of the
// one that its checkpoint is about. Of a sound export they are the same. Nothing is verified.
func Origins(r io.ReaderAt, size int64) ([]string, error) {
	f, err := open(r, size)
	if err != nil {
		return nil, err
	}
	names := []string{proof.Origin(f.manifest.LogID)}
	raw, err := f.checkpoint()
	if err != nil {
		return nil, err
	}
	if head, err := proof.Read(raw); err == nil { // else verifying says so
		names = append(names, head.Origin)
	}
	return names, nil
}

func known(name string) bool {
	switch name {
	case nameReadme, nameManifest, nameRecords, nameContents, nameCheckpoint, nameKey, nameKeys, nameErasures, nameTree:
		return true
	}
	digest, ok := strings.CutPrefix(name, contentFolder)
	raw, err := hex.DecodeString(digest)
	return ok && err == nil && len(raw) == 32 && digest == strings.ToLower(digest)
}

func (f *file) reader(name string) (io.ReadCloser, error) {
	m := f.members[name]
	if m == nil {
		return nil, fmt.Errorf("%w: %s is missing", ErrForm, name)
	}
	r, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrForm, name, err)
	}
	return r, nil
}

// small reads a member into memory, up to a limit, whatever the directory says of its size.
func (f *file) small(name string, limit int64) ([]byte, error) {
	r, err := f.reader(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrForm, name, err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrForm, name, limit)
	}
	return raw, nil
}

// lines hands the lines of a member to do.
func (f *file) lines(name string, limit int, do func(line []byte) error) error {
	r, err := f.reader(name)
	if err != nil {
		return err
	}
	defer r.Close()
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, min(limit, 64<<10)), limit)
	for s.Scan() {
		if err := do(s.Bytes()); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrForm, name, err)
	}
	return nil
}

// strict reads one line of JSON that has no other fields than are known.
func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: a line: %w", ErrForm, err)
	}
	if d.More() {
		return fmt.Errorf("%w: a line holds more than one value", ErrForm)
	}
	return nil
}

func (f *file) records(do func(eventstore.Record) error) error { return f.recordsOf(nameRecords, do) }

func (f *file) recordsOf(name string, do func(eventstore.Record) error) error {
	return f.lines(name, lineMax, func(line []byte) error {
		var l Line
		if err := strict(line, &l); err != nil {
			return err
		}
		r, err := l.record()
		if err != nil {
			return err
		}
		return do(r)
	})
}

// tree reads the hashes of the tree; more than any proof of so many records needs are refused.
func (f *file) tree(records int64) (map[int64]tlog.Hash, error) {
	out := map[int64]tlog.Hash{}
	err := f.lines(nameTree, treeLineMax+2, func(line []byte) error {
		index, text, _ := strings.Cut(string(line), " ")
		i, err := strconv.ParseInt(index, 10, 64)
		raw, bad := hex.DecodeString(text)
		if _, twice := out[i]; twice || err != nil || bad != nil || i < 0 || len(raw) != tlog.HashSize {
			return fmt.Errorf("%w: %s holds %.100q", ErrForm, nameTree, line)
		}
		if int64(len(out)) >= records*hashesMax {
			return fmt.Errorf("%w: %s has more hashes than %d records need", ErrForm, nameTree, records)
		}
		out[i] = tlog.Hash(raw)
		return nil
	})
	return out, err
}

// described reads what the large contents are said to be.
func (f *file) described() (map[string]content, error) {
	out := map[string]content{}
	err := f.lines(nameContents, lineMax, func(line []byte) error {
		var c content
		if err := strict(line, &c); err != nil {
			return err
		}
		if _, twice := out[c.Digest]; twice || len(out) >= membersMax || f.members[contentFolder+c.Digest] == nil {
			return fmt.Errorf("%w: %s names %.100q twice, or for nothing", ErrForm, nameContents, c.Digest)
		}
		out[c.Digest] = c
		return nil
	})
	return out, err
}

// content reads a large content and says whether it is what its digest was made of.
func (f *file) content(c content) (ok bool, err error) {
	raw, err := f.small(contentFolder+c.Digest, contentMax)
	if err != nil {
		return false, err
	}
	salt, err := hex.DecodeString(c.Salt)
	if err != nil || len(salt) != 16 {
		return false, fmt.Errorf("%w: the salt of content %s is %.80q", ErrForm, c.Digest, c.Salt)
	}
	return event.BlobDigest([16]byte(salt), raw) == c.Digest && int64(len(raw)) == c.Size, nil
}

// contents counts the large contents.
func (f *file) contents() (n int) {
	for name := range f.members {
		if strings.HasPrefix(name, contentFolder) {
			n++
		}
	}
	return n
}

func (f *file) checkpoint() ([]byte, error) { return f.small(nameCheckpoint, proof.NoteMax) }
