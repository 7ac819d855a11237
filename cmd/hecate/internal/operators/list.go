package operators

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"sync"
)

// List answers whose token one is, for a server. It looks at the file each time, so an
// edit counts at once. A file that cannot be read knows nobody: what it said before may
// have been revoked since. It is safe for concurrent use.
type List struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	raw    []byte // what known was made of
	known  []holder
	failed string // the last problem that was logged
}

// holder is an active operator.
type holder struct {
	name  string
	token [sha256.Size]byte // digest
}

// Open returns the list at path.
func Open(path string, log *slog.Logger) *List { return &List{path: path, log: log} }

// Operator returns the name that goes with an active token, "" if none does.
func (l *List) Operator(token string) string {
	given := sha256.Sum256([]byte(token))
	name := ""
	for _, h := range l.holders() {
		// All are compared, whichever is the right one: how long it takes tells nothing.
		if subtle.ConstantTimeCompare(given[:], h.token[:]) == 1 {
			name = h.name
		}
	}
	return name
}

func (l *List) holders() []holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, err := load(l.path)
	if err == nil && l.raw != nil && bytes.Equal(raw, l.raw) {
		return l.known
	}
	var list []Operator
	if err == nil {
		list, err = parse(l.path, raw)
	}
	l.raw, l.known = raw, nil
	if err != nil {
		l.raw = nil
		if l.failed != err.Error() {
			l.failed = err.Error()
			l.log.Error("no operator is known until the list can be read", "error", l.failed)
		}
		return nil
	}
	l.failed = ""
	for _, o := range list {
		if !o.Active() {
			continue
		}
		h := holder{name: o.Name}
		_, _ = hex.Decode(h.token[:], []byte(o.Token)) // checked when it was read
		l.known = append(l.known, h)
	}
	return l.known
}
