// Package archive puts a part of a log into one file that proves itself: the records of a
// run, of a task or of a stretch of the log, their large contents, a signed checkpoint and
// the hashes that lead from each record to it. The file is checked anywhere, without the log.
//
// It is a zip file with these members, all of them plain text but the contents:
//
//	README.txt       what this is, for people
//	manifest.json    format, log, what was asked for, how much of it there is
//	erasures.jsonl   the records that say what of the others was erased
//	records.jsonl    one record a line, stream by stream; see Line
//	contents.jsonl   digest, salt, size and media type of each large content
//	contents/DIGEST  the contents themselves
//	checkpoint.txt   signed note, C2SP tlog-checkpoint
//	key.txt          the public key that the checkpoint is signed under
//	keys.jsonl       the records that changed the key, if there are any, in the form of records.jsonl
//	tree.txt         hashes of the tree, "INDEX HEX" a line, numbered as golang.org/x/mod/sumdb/tlog does
package archive

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hecate/eventstore"
)

// Format names this form of the file.
const Format = "hecate.audit-export.v1"

// ErrForm is wrapped by the errors about files that are no export, or a damaged one.
var ErrForm = errors.New("this is no export of hecate, or it is damaged")

// Names of the members.
const (
	nameReadme     = "README.txt"
	nameManifest   = "manifest.json"
	nameRecords    = "records.jsonl"
	nameContents   = "contents.jsonl"
	nameCheckpoint = "checkpoint.txt"
	nameKey        = "key.txt"
	nameKeys       = "keys.jsonl"
	nameErasures   = "erasures.jsonl"
	nameTree       = "tree.txt"
	contentFolder  = "contents/"
)

// Manifest says what is in an export.
type Manifest struct {
	Format   string `json:"format"`
	LogID    string `json:"log_id"`
	Asked    string `json:"asked"`          // for what, in words
	From     int64  `json:"from,omitempty"` // positions, if a stretch of the log was asked for
	To       int64  `json:"to,omitempty"`
	Records  int64  `json:"records"`
	Contents int64  `json:"contents"`
	Size     int64  `json:"size"`              // records under the checkpoint
	MadeBy   string `json:"made_by,omitempty"` // the program
}

// Line is one record in records.jsonl. The bytes of the data are those that were hashed; if
// they cannot stand in a line as they are, they are in data_base64.
type Line struct {
	Position   int64            `json:"position"`
	Stream     string           `json:"stream"`
	Version    int64            `json:"version"`
	ID         string           `json:"id"` // hex
	Type       string           `json:"type"`
	Schema     int              `json:"schema"`
	At         int64            `json:"at_us"` // microseconds since 1970-01-01 UTC
	Actor      eventstore.Actor `json:"actor"`
	CausedBy   int64            `json:"caused_by"`
	CommandID  string           `json:"command_id"`
	Trace      string           `json:"trace"`
	Hash       string           `json:"hash"`                  // hex
	Salt       string           `json:"salt,omitempty"`        // hex; none of data that was erased
	DataDigest string           `json:"data_digest,omitempty"` // hex; of salt and data that were erased
	ErasedBy   int64            `json:"erased_by,omitempty"`   // position of the record that says so
	Data       json.RawMessage  `json:"data,omitempty"`
	DataBase64 []byte           `json:"data_base64,omitempty"`
}

// content is one line of contents.jsonl.
type content struct {
	Digest    string `json:"digest"`
	Salt      string `json:"salt"` // hex
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
}

// lineOf writes a record as a line.
func lineOf(r eventstore.Record) Line {
	l := Line{
		Position: r.Position, Stream: r.Stream, Version: r.Version, ID: hex.EncodeToString(r.ID[:]), Type: r.Type, Schema: r.Schema,
		At: r.At.UnixMicro(), Actor: r.Actor, CausedBy: r.CausedBy, CommandID: r.CommandID, Trace: r.Trace,
		Hash: hex.EncodeToString(r.Hash[:]), ErasedBy: r.Erased,
	}
	if r.Erased != 0 {
		l.DataDigest = hex.EncodeToString(r.ErasedDigest[:])
	} else {
		l.Salt = hex.EncodeToString(r.Salt[:])
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Data); err == nil && bytes.Equal(compact.Bytes(), r.Data) && compact.Len() > 0 {
		l.Data = r.Data
	} else {
		l.DataBase64 = r.Data
	}
	return l
}

// record reads a line back.
func (l Line) record() (r eventstore.Record, err error) {
	r = eventstore.Record{
		Position: l.Position, Stream: l.Stream, Version: l.Version, Type: l.Type, Schema: l.Schema, At: time.UnixMicro(l.At).UTC(),
		Actor: l.Actor, CausedBy: l.CausedBy, CommandID: l.CommandID, Trace: l.Trace, Data: l.Data,
	}
	if len(l.DataBase64) > 0 {
		if len(l.Data) > 0 {
			return r, fmt.Errorf("%w: record %d has its data twice", ErrForm, l.Position)
		}
		r.Data = l.DataBase64
	}
	if l.ErasedBy < 0 || (l.ErasedBy > 0) != (l.DataDigest != "") || (l.ErasedBy > 0) == (l.Salt != "") {
		return r, fmt.Errorf("%w: record %d was erased or was not", ErrForm, l.Position)
	}
	r.Erased = l.ErasedBy
	type bytesOf struct {
		to   []byte
		text string
	}
	fields := []bytesOf{{r.ID[:], l.ID}, {r.Hash[:], l.Hash}, {r.Salt[:], l.Salt}}
	if r.Erased > 0 {
		fields[2] = bytesOf{r.ErasedDigest[:], l.DataDigest}
	}
	for _, f := range fields {
		raw, err := hex.DecodeString(f.text)
		if err != nil || len(raw) != len(f.to) {
			return r, fmt.Errorf("%w: record %d holds %.80q where %d bytes are expected", ErrForm, l.Position, f.text, len(f.to))
		}
		copy(f.to, raw)
	}
	return r, nil
}
