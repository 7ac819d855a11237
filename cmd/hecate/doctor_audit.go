package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"hecate/cmd/hecate/internal/show"
	"hecate/eventstore/proof"
)

// audit says how the proof of the log stands: the key, how far it is sealed, and what the
// witness has.
func (f *findings) audit(ctx context.Context, a *app, c config) {
	if c.Backend == "memory" || c.Backend != "postgres" && !exists(c.SQLitePath) {
		return // the log is gone at the end, or not there yet
	}
	ctx, stop := context.WithTimeout(ctx, probeMax)
	defer stop()
	name := c.SQLitePath
	if c.Backend == "postgres" {
		name = "" // as the environment names it
	}
	log, err := a.openLog(ctx, name)
	if err != nil {
		return // what is wrong with the database is said there
	}
	defer log.Close()
	bounds, err := log.Bounds(ctx)
	if err != nil {
		f.add("audit", wanting, "how far the log is sealed cannot be read: %s", firstLineOf(err))
		return
	}
	if bounds.Last == 0 {
		return
	}
	id, err := log.ID(ctx)
	if err == nil {
		_, err = proof.ReadKey(c.AuditKeyFile, proof.Origin(id))
	}
	behind := show.Count(max(bounds.Last-bounds.Sealed, 0), "record")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.add("audit", wanting, "there is no key at %s, so nothing is sealed from here; the log is sealed up to record %d, %s behind it not: put the key back, or see hecate audit key replace --help", c.AuditKeyFile, bounds.Sealed, behind)
	case err != nil:
		f.add("audit", wanting, "the key that signs checkpoints cannot be used: %s", firstLineOf(err))
	default:
		f.add("audit", healthy, "the log is sealed up to record %d, %s behind it not yet", bounds.Sealed, behind)
	}
	f.witness(ctx, c.AuditWitness, proof.Origin(id), bounds.Sealed)
}

// witness says what the witness has, as far as that can be seen from here.
func (f *findings) witness(ctx context.Context, target, origin string, sealed int64) {
	if target == "" {
		return
	}
	w := newWitness(target, nil)
	if w.remote() {
		u, err := url.Parse(target)
		if err != nil {
			f.add("witness", wanting, "HECATE_AUDIT_WITNESS is no address that can be read") // the error would repeat what is secret in it
			return
		}
		if err := dial(ctx, hostPort(u)); err != nil {
			f.add("witness", wanting, "%s cannot be reached; checkpoints wait until it can: %s", w.name(), firstLineOf(err))
			return
		}
		f.add("witness", healthy, "%s can be reached; what it has is known there", w.name())
		return
	}
	raw, err := endOf(target, 2*proof.NoteMax)
	if err != nil {
		f.add("witness", wanting, "%s has no checkpoint: %s", target, firstLineOf(err))
		return
	}
	newest := int64(0)
	for _, one := range proof.Split(raw) {
		if head, err := proof.Read(one); err == nil && head.Origin == origin {
			newest = head.Size
		}
	}
	switch {
	case newest == 0:
		f.add("witness", wanting, "%s has no checkpoint of this log", target)
	case newest > sealed:
		f.add("witness", wanting, "%s has a checkpoint for %s, and the log is sealed up to record %d: it may be an earlier state of itself; see hecate audit verify --checkpoint %[1]s", target, show.Count(newest, "record"), sealed)
	default:
		f.add("witness", healthy, "%s has the checkpoint for %s", target, show.Count(newest, "record"))
	}
}

// endOf reads the last bytes of a file.
func endOf(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(info.Size()-most, 0)
	raw, err := io.ReadAll(io.NewSectionReader(file, from, most))
	if from > 0 { // the first one is cut off
		_, rest, _ := strings.Cut(string(raw), "\n\n")
		raw = []byte(rest)
	}
	return raw, err
}
