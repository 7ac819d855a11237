package request

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// KeyHeader is the header with which a client names a request, so that sending it
// again, after an answer that got lost, changes nothing.
const KeyHeader = "Idempotency-Key"

// KeyMax bounds such a name, in bytes.
const KeyMax = 200

// CommandID is what the log knows a named request by; "" without a name. The name is
// the path's own: on another path it names another request. Only what changes
// something can be named, so it is empty for everything but POST.
func CommandID(r *http.Request) (string, error) {
	values := r.Header.Values(KeyHeader)
	if r.Method != http.MethodPost || len(values) == 0 {
		return "", nil
	}
	key := values[0]
	unprintable := strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
	if len(values) > 1 || key == "" || len(key) > KeyMax || unprintable {
		return "", fmt.Errorf("%s must be one value of 1 to %d printable ASCII characters", KeyHeader, KeyMax)
	}
	sum := sha256.Sum256([]byte(r.Method + "\n" + r.URL.EscapedPath() + "\n" + key))
	return "http-" + hex.EncodeToString(sum[:]), nil
}
