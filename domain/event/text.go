package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// InlineMax is the size in bytes up to which a text stays inside its event.
// Larger ones go to the blob table, so that reading the log stays cheap.
const InlineMax = 16 << 10

// Text is a text of any size and any bytes, NUL and invalid UTF-8 included, that
// comes back exactly as it went in. In JSON it is a plain string; bytes that are
// no UTF-8 are {"base64": …}; what was moved to the blob table is {"blob": …}; and of
// what was erased {"erased": …} tells how many bytes it had.
type Text struct {
	s      string
	ref    *Ref
	erased int64 // bytes of what was erased
}

// Ref names a blob: the salted digest is its address and proves its content.
type Ref struct {
	Digest    string `json:"blob"` // hex SHA-256 of salt and content
	Size      int64  `json:"size"` // bytes
	MediaType string `json:"media_type,omitempty"`
}

// Blob is content that stands outside the log rows. Deleting it with its salt
// erases the content and leaves a digest that says nothing about it.
type Blob struct {
	Ref
	Salt    [16]byte
	Content []byte
}

// BlobDigest is the address of content under salt: hex SHA-256 over both.
func BlobDigest(salt [16]byte, content []byte) string {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// NewText returns s as a Text.
func NewText(s string) Text { return Text{s: s} }

// String returns the text, or "" if it stands in a blob that was not loaded.
func (t Text) String() string { return t.s }

// Ref returns where the text stands, or nil if it is inline.
func (t Text) Ref() *Ref { return t.ref }

// Erased reports whether the text was erased. It reads as ErasedMark then.
func (t Text) Erased() bool { return t.erased > 0 }

// Len returns the size in bytes, also of a text that was not loaded, or was erased.
func (t Text) Len() int64 {
	switch {
	case t.ref != nil:
		return t.ref.Size
	case t.erased > 0:
		return t.erased
	}
	return int64(len(t.s))
}

// IsZero reports whether the text is empty (for omitzero).
func (t Text) IsZero() bool { return t.ref == nil && t.s == "" }

func (t *Text) moveOut(newSalt func() [16]byte) (Blob, bool) {
	if t.ref != nil || t.erased > 0 || len(t.s) <= InlineMax {
		return Blob{}, false
	}
	b := Blob{Salt: newSalt(), Content: []byte(t.s)}
	b.Ref = Ref{Digest: BlobDigest(b.Salt, b.Content), Size: int64(len(t.s)), MediaType: "text/plain"}
	ref := b.Ref
	t.ref = &ref
	return b, true
}

// MarshalJSON writes the text, or the reference if it was moved out.
func (t Text) MarshalJSON() ([]byte, error) {
	switch {
	case t.erased > 0:
		return json.Marshal(map[string]int64{"erased": t.erased})
	case t.ref != nil:
		return json.Marshal(t.ref)
	case !utf8.ValidString(t.s):
		return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(t.s))})
	}
	return marshal(t.s)
}

// UnmarshalJSON reads all forms.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = Text{}
		// Folding a long log reads this more than anything else; most texts have nothing to unescape.
		if plain := b[1:max(len(b)-1, 1)]; len(b) > 1 && bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
			t.s = string(plain)
			return nil
		}
		return json.Unmarshal(b, &t.s)
	}
	var o struct {
		Base64 *string `json:"base64"`
		Erased int64   `json:"erased"`
		Ref
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*t = Text{}
	if o.Base64 != nil {
		raw, err := base64.StdEncoding.DecodeString(*o.Base64)
		t.s = string(raw)
		return err
	}
	switch {
	case o.Digest != "":
		t.ref = &o.Ref
	case o.Erased > 0:
		t.s, t.erased = ErasedMark, o.Erased
	}
	return nil
}
