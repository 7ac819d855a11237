// Package ident makes and checks the identifiers of Hecate. Random ids are made
// at the edge and handed to the rules; ids inside a run are derived from the
// run's id, so that replaying the same history gives the same ids.
package ident

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// hexLen is the number of hexadecimal digits after an id's prefix.
const hexLen = 24

// New returns prefix, an underscore and 24 random hexadecimal digits.
func New(prefix string) string {
	var b [hexLen / 2]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return prefix + "_" + hex.EncodeToString(b[:])
}

// Derive returns prefix, an underscore and 24 hexadecimal digits that depend on
// the parts alone. Parts are length-separated, so ("ab", "c") and ("a", "bc") differ.
func Derive(prefix string, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte{byte(len(p) >> 8), byte(len(p))})
		h.Write([]byte(p))
	}
	return prefix + "_" + hex.EncodeToString(h.Sum(nil)[:hexLen/2])
}

// crockford is the base-32 alphabet of public event ids.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// PublicEvent writes a 16-byte event id as "evt_" and 26 Crockford base-32
// characters, the shape that clients of the event feed know.
func PublicEvent(id [16]byte) string {
	var out strings.Builder
	out.Grow(30)
	out.WriteString("evt_")
	// 26 characters carry 130 bits: the first one holds the top 3 of 128.
	for i := range 26 {
		out.WriteByte(crockford[bitsAt(id, i*5-2)])
	}
	return out.String()
}

// bitsAt returns the five bits of id that start at bit from; bits before the first are zero.
func bitsAt(id [16]byte, from int) byte {
	var v byte
	for i := from; i < from+5; i++ {
		v <<= 1
		if i >= 0 {
			v |= id[i/8] >> (7 - i%8) & 1
		}
	}
	return v
}
