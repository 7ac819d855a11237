package egress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Request is what a model asks of a server.
type Request struct {
	Method string // in capital letters; see Methods
	Header http.Header
	Body   string
}

// Methods are those that a model may use.
func Methods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}
}

// Limits of the headers that a model sets.
const (
	headersMax    = 64
	headerNameMax = 128      // bytes of a name
	headersBytes  = 32 << 10 // of all names and values together
)

// Headers reads the headers that a model sets. Those are refused that decide about the
// connection, the host or where the body ends; so is what would not come out as one
// header. Accept-Encoding is left out: the transport unpacks what it has asked for.
func Headers(set map[string]string) (http.Header, error) {
	if len(set) > headersMax {
		return nil, fmt.Errorf("%d headers are too many; at most %d can be set", len(set), headersMax)
	}
	out, size := http.Header{}, 0
	for name, value := range set {
		size += len(name) + len(value)
		key := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name) || len(name) > headerNameMax:
			return nil, fmt.Errorf("%s is no header name", shown(name))
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("the value of header %s has a character that none can have", key)
		case ownHeader(key):
			return nil, fmt.Errorf("header %s cannot be set; it follows from the URL, the body and the connection", key)
		case out[key] != nil:
			return nil, fmt.Errorf("header %s is given twice", key)
		}
		out[key] = []string{value}
	}
	if size > headersBytes {
		return nil, fmt.Errorf("the headers have %d bytes; at most %d can be sent", size, headersBytes)
	}
	delete(out, "Accept-Encoding")
	return out, nil
}

// ownHeader reports whether a header is the client's own business.
func ownHeader(key string) bool {
	switch key {
	case "Host", "Content-Length", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings":
		return true
	}
	return strings.HasPrefix(key, "Proxy-")
}

// credentials are parts of names of headers that prove who asks.
var credentials = []string{"auth", "cookie", "token", "secret", "key", "passw", "session", "credential", "signature", "jwt", "csrf", "xsrf"}

// isCredential reports whether a header looks like one that only its server may see.
func isCredential(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(credentials, func(part string) bool { return strings.Contains(key, part) })
}

// Do makes a request and follows its redirects, at most ten, on the same host, as far as
// denied lets them through. None leads from https to http; where one leads to https,
// headers that look like credentials are no longer sent. A status of failure is no
// error. A *Refused says that a rule forbids the request or a redirect; requests before
// that were made.
func Do(ctx context.Context, t *Target, r Request, s Settings, denied Denied) (Response, error) {
	return newClient(s, denied).do(ctx, hop{t, r}, onTheHost)
}

// onTheHost follows where the rules of Do lead.
func onTheHost(from hop, r *http.Response) (*hop, string, error) {
	to := location(r)
	if to == "" {
		return nil, "", nil
	}
	at, err := from.at.onward(to)
	if err != nil {
		return nil, "", err
	}
	next := hop{at, from.Request}
	if turnsToGet(from.Method, r.StatusCode) {
		next.Method = http.MethodGet
		next.Request = next.withoutBody()
	}
	if at.Host() != from.at.Host() {
		// What was allowed is a call to one host; where that sends readers is its choice.
		return nil, "", &Refused{"it leads to another host; if that is meant, make a call with the new URL"}
	}
	if at.url.Scheme != from.at.url.Scheme {
		next.Header = dropped(next.Header, isCredential)
	}
	return &next, "", nil
}

// turnsToGet reports whether a redirect asks to read what became of a request instead of
// repeating it.
func turnsToGet(method string, status int) bool {
	switch status {
	case http.StatusSeeOther:
		return method != http.MethodHead
	case http.StatusMovedPermanently, http.StatusFound:
		return method == http.MethodPost
	}
	return false
}

// withoutBody is the request without its body and the headers that describe that.
func (r Request) withoutBody() Request {
	return Request{Method: r.Method, Header: dropped(r.Header, func(key string) bool { return strings.HasPrefix(key, "Content-") })}
}

// dropped is a copy of headers without some.
func dropped(h http.Header, drop func(key string) bool) http.Header {
	out := h.Clone()
	maps.DeleteFunc(out, func(key string, _ []string) bool { return drop(key) })
	return out
}

// onward is where a redirect from t leads.
func (t *Target) onward(to string) (*Target, error) {
	ref, err := t.request.Parse(to)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	next, err := NewTarget(ref.String(), t.resolver)
	switch {
	case err != nil:
		return nil, err
	case next.url.User:
		return nil, &Refused{"the address has user information, which is never sent"}
	case t.url.Scheme == "https" && next.url.Scheme != "https":
		return nil, &Refused{"it leads from https to http"}
	}
	return next, nil
}
