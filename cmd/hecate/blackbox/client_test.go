//go:build linux

package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const api = "/hecate/v1"

// client speaks HTTP to one server and knows nothing of the product's types.
type client struct {
	base   string
	hc     *http.Client
	header http.Header   // sent with every request
	seen   *atomic.Int64 // the furthest position in the log that the test has been shown
}

func newClient(base string) *client {
	return &client{base: base, header: http.Header{}, seen: &atomic.Int64{}, hc: &http.Client{
		Timeout:   patience,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, Proxy: nil},
	}}
}

// answer is a whole HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send asks without judging the answer. A body that is a string goes out as it
// stands, nil sends none, anything else is sent as JSON. Header is name, value, …
func (c *client) send(method, path string, body any, header ...string) (answer, error) {
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, c.base+path, in)
	if err != nil {
		return answer{}, err
	}
	req.Header = c.header.Clone()
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.hc.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, raw}, err
}

// ask sends and fails the test if there is no answer at all. An answer that says of itself
// that it is older than what the test has seen is asked for again: on a slow machine the read
// models lag.
func (c *client) ask(t *testing.T, method, path string, body any, header ...string) answer {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		a, err := c.send(method, path, body, header...)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		if method != http.MethodGet {
			if p := a.position(); p < math.MaxInt64 {
				c.saw(p)
			}
			return a
		}
		if !c.behind(path, a) || time.Now().After(end) {
			return a
		}
	}
}

func (c *client) behind(path string, a answer) bool {
	if strings.Contains(path, "/events") {
		return false // they come from the log
	}
	if a.status == http.StatusServiceUnavailable {
		return strings.Contains(string(a.body), "read models")
	}
	return a.position() < c.seen.Load()
}

// saw remembers that the test knows of a position in the log.
func (c *client) saw(position int64) {
	for {
		before := c.seen.Load()
		if before >= position || c.seen.CompareAndSwap(before, position) {
			return
		}
	}
}

// position is where in the log an answer stands; the end of all logs if it does not say.
func (a answer) position() int64 {
	n, err := strconv.ParseInt(a.header.Get("Hecate-Position"), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// get, post and data expect a 200 and return the object or list inside its envelope.
func (c *client) get(t *testing.T, path string) doc {
	t.Helper()
	return c.ask(t, "GET", path, nil).ok(t).envelope(t).obj("data")
}

func (c *client) post(t *testing.T, path string, body any) doc {
	t.Helper()
	return c.ask(t, "POST", path, body).ok(t).envelope(t).obj("data")
}

func (c *client) list(t *testing.T, path string) []doc {
	t.Helper()
	e := c.ask(t, "GET", path, nil).ok(t).envelope(t)
	if _, isList := e["data"].([]any); !isList {
		t.Fatalf("GET %s: data is no list: %s", path, e)
	}
	return e.list("data")
}

func (a answer) ok(t *testing.T) answer {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", a.status, a.body)
	}
	return a
}

func (a answer) envelope(t *testing.T) doc {
	t.Helper()
	d, err := parse(a.body)
	if err != nil {
		t.Fatalf("the body is no JSON object: %v: %s", err, a.body)
	}
	return d
}

// refused asserts the error envelope with this status and type.
func (a answer) refused(t *testing.T, status int, kind string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
		return
	}
	e := a.envelope(t)
	if got := e.str("error", "type"); got != kind {
		t.Errorf("error type %q, want %q: %s", got, kind, a.body)
	}
	if e.str("error", "message") == "" {
		t.Errorf("an error without a message: %s", a.body)
	}
	if a.header.Get("X-Request-Id") == "" {
		t.Error("an error without X-Request-Id")
	}
}

// doc is a JSON object. Its readers take the way to a member, name by name, and
// give the zero value if there is none.
type doc map[string]any

func parse(raw []byte) (doc, error) {
	var d doc
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(&d)
	return d, err
}

func (d doc) at(way ...string) any {
	var v any = map[string]any(d)
	for _, name := range way {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func (d doc) str(way ...string) string { s, _ := d.at(way...).(string); return s }

func (d doc) flag(way ...string) bool { b, _ := d.at(way...).(bool); return b }

func (d doc) obj(way ...string) doc { m, _ := d.at(way...).(map[string]any); return m }

// num is -1<<62 if the member is no integer, so that a missing one is never taken for 0.
func (d doc) num(way ...string) int64 {
	if n, ok := d.at(way...).(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return -1 << 62
}

func (d doc) list(way ...string) []doc {
	items, _ := d.at(way...).([]any)
	out := make([]doc, 0, len(items))
	for _, i := range items {
		m, _ := i.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (d doc) has(way ...string) bool {
	parent := d.obj(way[:len(way)-1]...)
	if len(way) == 1 {
		parent = d
	}
	_, ok := parent[way[len(way)-1]]
	return ok
}

func (d doc) String() string {
	raw, _ := json.Marshal(map[string]any(d)) // it came from JSON
	return string(raw)
}

// want maps ways, written with /, to values: a string, a bool or an int. The value
// present only asks that the member is there and not empty, absent that it is not there.
type want map[string]any

type presence int

const (
	present presence = iota
	absent
)

// check asserts the members of d that w names.
func (w want) check(t *testing.T, what string, d doc) {
	t.Helper()
	var wrong []string
	for key, v := range w {
		way := strings.Split(key, "/")
		got := d.at(way...)
		ok := false
		switch v := v.(type) {
		case presence:
			full := got != nil && got != "" && fmt.Sprint(got) != "map[]" && fmt.Sprint(got) != "[]"
			ok = full == (v == present) && (v == present || !d.has(way...))
		case int:
			ok = d.num(way...) == int64(v)
		default:
			ok = got == v
		}
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s = %#v, want %v", key, got, v))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		t.Errorf("%s: %s\nin %s", what, strings.Join(wrong, "; "), d)
	}
}
