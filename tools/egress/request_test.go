package egress_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hecate/tools/egress"
)

// seen is a request as a server saw it.
type seen struct {
	at, method, body string
	header           http.Header
}

// sites are servers that note what they are asked and redirect where the query says.
type sites struct {
	home, away *httptest.Server // https, both for example.com
	plain      *httptest.Server
	asked      []seen
}

func newSites(t *testing.T) *sites {
	s := &sites{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.asked = append(s.asked, seen{r.Host, r.Method, string(body), r.Header})
		w.Header().Set("Set-Cookie", "a=b")
		if to := r.URL.Query().Get("to"); to != "" {
			status := http.StatusFound
			_, _ = fmt.Sscan(r.URL.Query().Get("status"), &status)
			w.Header().Set("Location", to)
			w.WriteHeader(status)
			return
		}
		fmt.Fprintf(w, "%s of %d bytes", r.Method, len(body))
	})
	s.home, s.away, s.plain = httptest.NewTLSServer(h), httptest.NewTLSServer(h), httptest.NewServer(h)
	t.Cleanup(func() { s.home.Close(); s.away.Close(); s.plain.Close() })
	return s
}

func do(t *testing.T, address string, r egress.Request, s egress.Settings, denied egress.Denied) (egress.Response, error) {
	t.Helper()
	target, err := egress.NewTarget(address, local())
	if err != nil {
		t.Fatal(err)
	}
	return egress.Do(t.Context(), target, r, s, denied)
}

func to(base, address, status string) string {
	return base + "/?status=" + status + "&to=" + url.QueryEscape(address)
}

// header is what a model might set, with everything that proves who asks.
func header() http.Header {
	return http.Header{
		"Accept": {"text/x"}, "Content-Type": {"text/y"}, "X-Plain": {"p"}, "Authorization": {"Bearer s"}, "Cookie": {"c=s"}, "X-Api-Key": {"s"},
		"X-Gitlab-Token": {"s"}, "X-Amz-Signature": {"s"}, "X-Csrf": {"s"}, "X-User-Password": {"s"}, "Session-Id": {"s"},
	}
}

func TestWhatARedirectRepeats(t *testing.T) {
	for _, c := range []struct {
		method, status string
		where          string // same or away
		then           string // what is asked there; "" if nothing is
		body           bool
	}{
		{"GET", "301", "same", "GET", true},
		{"GET", "302", "away", "", false},
		{"HEAD", "303", "away", "", false},
		{"POST", "301", "same", "GET", false},
		{"POST", "302", "same", "GET", false},
		{"POST", "303", "same", "GET", false},
		{"POST", "303", "away", "", false},
		{"POST", "307", "same", "POST", true},
		{"POST", "308", "same", "POST", true},
		{"PUT", "301", "same", "PUT", true},
		{"PUT", "303", "same", "GET", false},
		{"DELETE", "302", "same", "DELETE", true},
		{"POST", "307", "away", "", false},
		{"POST", "308", "away", "", false},
		{"PUT", "302", "away", "", false},
		{"DELETE", "301", "away", "", false},
		{"PATCH", "308", "away", "", false},
	} {
		s := newSites(t)
		home, away := named(s.home), s.away.URL
		target := map[string]string{"same": home + "/there", "away": away + "/there"}[c.where]
		_, err := do(t, to(home, target, c.status), egress.Request{Method: c.method, Header: header(), Body: "body"}, private, nil)
		name := c.method + " " + c.status + " " + c.where
		if c.then == "" {
			if len(s.asked) != 1 || !errors.As(err, new(*egress.Refused)) || !strings.Contains(err.Error(), "it leads to another host") {
				t.Errorf("%s: %d requests, %v", name, len(s.asked), err)
			}
			continue
		}
		if err != nil || len(s.asked) != 2 {
			t.Errorf("%s: %d requests, %v", name, len(s.asked), err)
			continue
		}
		then := s.asked[1]
		if then.method != c.then || (then.body == "body") != c.body || (then.header.Get("Content-Type") != "") != c.body || then.header.Get("X-Plain") != "p" {
			t.Errorf("%s: then %+v", name, then)
		}
		for key, v := range header() {
			if slices.Contains([]string{"Accept", "Content-Type", "X-Plain"}, key) {
				continue
			}
			if then.header.Get(key) != v[0] {
				t.Errorf("%s: %s is not kept", name, key)
			}
		}
		if then.header.Get("Cookie") == "a=b" || strings.Contains(then.header.Get("Cookie"), "a=b") || then.header.Get("Referer") != "" {
			t.Errorf("%s: cookies and addresses of the server are sent: %v", name, then.header)
		}
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	s := newSites(t)
	home := named(s.home)
	host := strings.TrimPrefix(home, "https://")
	for _, c := range []struct {
		to       string
		settings egress.Settings
		denied   egress.Denied
		why      string
		refused  bool
	}{
		{s.plain.URL + "/x", private, nil, "it leads from https to http", true},
		{strings.Replace(home, "https", "http", 1), private, nil, "it leads from https to http", true},
		{"https://user:pw@" + host + "/", private, nil, "user information", true},
		{"ftp://a.example/", private, nil, `scheme "ftp" is not allowed`, false},
		{"javascript:alert(1)", private, nil, `scheme "javascript" is not allowed`, false},
		{"https://2130706433/", private, nil, "write 127.0.0.1", false},
		{"https:///x", private, nil, "has no host", false},
		{"https://ex%zz/", private, nil, "cannot be read", false},
		{s.away.URL + "/x", private, nil, "it leads to another host", true},
		{"/secret", private, func(url, _ string) string {
			if strings.HasSuffix(url, "/secret") {
				return "denied by config x"
			}
			return ""
		}, "denied by config x", true},
	} {
		s.asked = nil
		_, err := do(t, to(home, c.to, "302"), egress.Request{Method: "GET"}, c.settings, c.denied)
		if err == nil || !strings.HasPrefix(err.Error(), "status 302 redirects to ") || !strings.Contains(err.Error(), ", which was not followed: ") || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %s", c.to, err, c.why)
		}
		if len(s.asked) != 1 || errors.As(err, new(*egress.Refused)) != c.refused {
			t.Errorf("%s: %d requests, %T %v", c.to, len(s.asked), err, err)
		}
	}
	if _, err := do(t, home+"/x", egress.Request{Method: "GET"}, egress.Settings{AllowPrivateIPs: true, AllowedHosts: []string{"docs.rs"}}, nil); !errors.As(err, new(*egress.Refused)) {
		t.Errorf("a host that is not listed: %v", err)
	}
}

// Every host, named or numbered, is held to its address, whatever is asked of it.
func TestRequestsIntoAPrivateNetwork(t *testing.T) {
	s := newSites(t)
	r := &names{answers: [][]netip.Addr{addrs("93.184.216.34"), addrs("10.0.0.1")}}
	target, err := egress.NewTarget("https://public.example/", r)
	if err != nil {
		t.Fatal(err)
	}
	// The decision saw a public address; nobody answers there, and no other one is tried.
	target.Addrs(t.Context())
	var dialled dials
	d := &egress.Dialer{Resolver: target, Dial: dialled.dial}
	if _, err := d.DialContext(t.Context(), "tcp", "public.example:443"); err == nil || dialled[0] != "93.184.216.34:443" {
		t.Errorf("dialled %q, %v", dialled, err)
	}
	for _, private := range []string{s.home.URL, "https://10.0.0.1/", "https://[::1]/", "https://inside.example/"} {
		target, err := egress.NewTarget(private+"/x", &names{answers: [][]netip.Addr{addrs("10.0.0.1")}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := egress.Do(t.Context(), target, egress.Request{Method: "POST", Body: "x"}, egress.Settings{}, nil); !errors.As(err, new(*egress.Refused)) || len(s.asked) > 0 {
			t.Errorf("%s: %v", private, err)
		}
	}
}

func TestTooManyRedirects(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	if _, err := do(t, s.URL, egress.Request{Method: "POST", Body: "x"}, private, nil); err == nil || !strings.Contains(err.Error(), "redirects more than 10 times") || asked != 11 {
		t.Errorf("%d requests, %v", asked, err)
	}
}

func TestHeaders(t *testing.T) {
	h, err := egress.Headers(map[string]string{"accept": "a/b", "X-A": "\u00fc", "accept-encoding": "br", "user-agent": "me"})
	if err != nil || len(h) != 3 || h.Get("Accept") != "a/b" || h.Get("User-Agent") != "me" {
		t.Errorf("%v, %v", h, err)
	}
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("x", i)] = ""
	}
	for want, set := range map[string]map[string]string{
		`"" is no header name`: {"": "x"}, `"a b" is no`: {"a b": "x"}, `"a:" is no`: {"a:": "x"}, `"x\r\nHost" is no`: {"x\r\nHost": "b"},
		`"ü" is no`: {"\u00fc": "x"}, "value of header X-A": {"x-a": "b\r\nHost: c"}, "value of header X-B": {"x-b": "\x00"}, "value of header X-C": {"x-c": "a\nb"},
		"header Host cannot be set": {"host": "b"}, "Content-Length cannot": {"content-length": "1"}, "Transfer-Encoding cannot": {"TRANSFER-ENCODING": "chunked"},
		"Connection cannot": {"connection": "x"}, "Proxy-Authorization cannot": {"proxy-authorization": "x"}, "Proxy-Connection cannot": {"proxy-connection": "x"},
		"Te cannot": {"TE": "x"}, "Trailer cannot": {"trailer": "x"}, "Upgrade cannot": {"upgrade": "h2c"}, "Keep-Alive cannot": {"keep-alive": "1"},
		"given twice": {"x-a": "1", "X-A": "2"}, "65 headers are too many": many, "at most 32768": {"x-a": strings.Repeat("x", 33<<10)},
		"is no header name": {strings.Repeat("x", 200): ""},
	} {
		if _, err := egress.Headers(set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("X-A", "b")
	f.Add("x\r\nHost", "b\r\n\r\nGET / HTTP/1.1")
	f.Add("transfer-encoding", "chunked")
	f.Fuzz(func(t *testing.T, name, value string) {
		h, err := egress.Headers(map[string]string{name: value})
		if err != nil {
			return
		}
		var b strings.Builder
		if err := h.Write(&b); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.String(), "\n"); lines > 1 || strings.ContainsAny(strings.TrimSuffix(b.String(), "\r\n"), "\r\n\x00") || h.Get("Host") != "" {
			t.Errorf("%q: %q is sent as %q", name, value, b.String())
		}
	})
}
