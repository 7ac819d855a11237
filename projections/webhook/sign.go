package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_" // of a key that is written in base64
	secretMin    = 24       // bytes of a key
	secretMax    = 64
)

// Secret is a key that a receiver shares. fmt prints nothing of it.
type Secret struct{ key []byte }

// ParseSecret reads a key: whsec_ and base64 of 24 to 64 bytes, or any text of that
// length, whose bytes are the key. Errors show nothing of it.
func ParseSecret(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	key := []byte(text)
	if encoded, ok := strings.CutPrefix(text, secretPrefix); ok {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return Secret{}, errors.New("what follows whsec_ is no base64")
		}
	}
	if len(key) < secretMin || len(key) > secretMax {
		return Secret{}, fmt.Errorf("it has %d bytes, use %d to %d random ones, for instance: echo whsec_$(openssl rand -base64 32)", len(key), secretMin, secretMax)
	}
	return Secret{key}, nil
}

// String hides the key.
func (Secret) String() string { return "(secret)" }

// GoString hides the key.
func (Secret) GoString() string { return "(secret)" }

// Sign returns the signature of a message: "v1," and base64 of HMAC-SHA256 over id, time
// in seconds and body, joined by dots. Source: Standard Webhooks 1.0, symmetric
// signatures.
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
