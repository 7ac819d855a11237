package egress_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hecate/tools/egress"
)

// local reaches example.com at loopback.
func local() *names { return &names{answers: [][]netip.Addr{addrs("127.0.0.1")}} }

var private = egress.Settings{AllowPrivateIPs: true}

func get(t *testing.T, url string, s egress.Settings) (egress.Response, error) {
	t.Helper()
	target, err := egress.NewTarget(url, local())
	if err != nil {
		t.Fatal(err)
	}
	return egress.Get(t.Context(), target, s, nil)
}

// named is a server's URL with example.com as its host, which its certificate is for.
func named(s *httptest.Server) string { return strings.Replace(s.URL, "127.0.0.1", "example.com", 1) }

func TestRequestsSayNothingOfTheModelsChoosing(t *testing.T) {
	seen := make(chan *http.Request, 1)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
		seen <- r
	}))
	defer s.Close()
	url := strings.Replace(named(s), "https://example.com", "https://user:secret@EXAMPLE.com.", 1)
	r, err := get(t, url+"/a%20b/%2e%2e/%c3%bc?q=x y&z=\"ü\"#part", private)
	if err != nil {
		t.Fatal(err)
	}
	req := <-seen
	if req.Method != "GET" || req.RequestURI != "/a%20b/%2e%2e/%c3%bc?q=x%20y&z=%22%C3%BC%22" || req.Header.Get("Authorization") != "" || req.Header.Get("Cookie") != "" {
		t.Errorf("%s %s %v", req.Method, req.RequestURI, req.Header)
	}
	if len(req.Header) != 3 || req.UserAgent() != "hecate/1" || !strings.HasPrefix(req.Host, "example.com:") { // Accept, Accept-Encoding and User-Agent
		t.Errorf("%s %v", req.Host, req.Header)
	}
	if body := string(r.Body); body != "short and stout" || r.Status != 418 || r.ContentType != "text/plain" || strings.Contains(r.URL, "secret") || strings.Contains(r.URL, "#") {
		t.Errorf("%+v", r)
	}
}

func TestRedirects(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer plain.Close()
	reached := 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch to := r.URL.Query().Get("to"); {
		case r.URL.Path == "/end":
			fmt.Fprint(w, "the end of "+r.URL.RawQuery)
		case r.URL.Path == "/loop":
			w.Header().Set("Location", "/loop")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case r.URL.Path == "/notmodified":
			w.WriteHeader(http.StatusNotModified)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusFound)
		default:
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}))
	defer s.Close()
	home := named(s)
	port := home[strings.LastIndexByte(home, ':'):]
	for _, c := range []struct{ to, body, redirect string }{
		{"/end", "the end of ", ""},
		{"end?x", "the end of x", ""},
		{home + "/end?y", "the end of y", ""},
		{strings.ToUpper(home) + "/end", "the end of ", ""},
		{"//example.com" + port + "/end", "the end of ", ""},
		{other.URL + "/x", "", other.URL + "/x"},
		{"https://example.com/x", "", "https://example.com/x"},
		{"https://sub.example.com" + port + "/x", "", "https://sub.example.com" + port + "/x"},
		{"https://example.com.evil.example" + port + "/", "", "https://example.com.evil.example" + port + "/"},
		{"http://example.com" + port + "/x", "", "http://example.com" + port + "/x"},
		{"https://a@example.com" + port + "/x", "", "https://a@example.com" + port + "/x"},
		{"https://127.0.0.1" + port + "/x", "", "https://127.0.0.1" + port + "/x"},
		{"https://2130706433/x", "", "https://2130706433/x"},
		{"file:///etc/passwd", "", "file:///etc/passwd"},
		{"javascript:alert(1)", "", "javascript:alert(1)"},
	} {
		r, err := get(t, home+"/go?to="+strings.ReplaceAll(c.to, "?", "%3F"), private)
		if err != nil || string(r.Body) != c.body || r.Redirect != c.redirect {
			t.Errorf("to %s: %q, redirect %q, %v", c.to, r.Body, r.Redirect, err)
		}
		if c.redirect != "" && r.Status != http.StatusMovedPermanently {
			t.Errorf("to %s: status %d", c.to, r.Status)
		}
	}
	if reached > 0 {
		t.Errorf("another host was asked %d times", reached)
	}
	if _, err := get(t, home+"/loop", private); err == nil || !strings.Contains(err.Error(), "redirects more than 10 times") {
		t.Errorf("a loop: %v", err)
	}
	for path, status := range map[string]int{"/notmodified": 304, "/nowhere": 302} {
		if r, err := get(t, home+path, private); err != nil || r.Status != status || r.Redirect != "" {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
	}
	// Over plain http even the same host is a new call: each shows its whole URL to the network.
	for _, to := range []string{"/x", home + "/end"} {
		if r, err := get(t, plain.URL+"/?to="+to, private); err != nil || r.Redirect == "" {
			t.Errorf("from http to %s: %+v, %v", to, r, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	block := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 64<<20)
			_ = z.Close()
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		case "/slow":
			w.(http.Flusher).Flush()
			<-block
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		default:
			fmt.Fprint(w, "12345")
		}
	}))
	defer s.Close()
	defer close(block)
	few := egress.Settings{AllowPrivateIPs: true, ResponseMaxBytes: 4}
	if r, err := get(t, s.URL, few); err != nil || string(r.Body) != "1234" || !r.Truncated {
		t.Errorf("%+v, %v", r, err)
	}
	few.ResponseMaxBytes = 5
	if r, err := get(t, s.URL, few); err != nil || string(r.Body) != "12345" || r.Truncated {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := get(t, s.URL+"/bomb", private); err != nil || len(r.Body) != 256<<10 || !r.Truncated {
		t.Errorf("%d bytes, %v", len(r.Body), err)
	}
	for path, want := range map[string]string{"/header": "exceeded", "/cut": "read the answer, which has status 200: unexpected EOF"} {
		if _, err := get(t, s.URL+path, private); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := get(t, s.URL+"/slow", egress.Settings{AllowPrivateIPs: true, Timeout: 50 * time.Millisecond}); fmt.Sprint(err) != "no whole answer within 50ms; configure HECATE_TASK_HTTP_TIMEOUT to wait longer" {
		t.Errorf("slow: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestCertificatesAreChecked(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	url := strings.Replace(s.URL, "127.0.0.1", "wrong.test", 1)
	if _, err := get(t, url, private); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

func TestAllowedHosts(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer s.Close()
	host := strings.TrimPrefix(named(s), "http://")
	for list, ok := range map[string]bool{"example.com": true, "EXAMPLE.com.": true, host: true, "x.example": false, "example.com:1": false, "com": false, "*.com": false} {
		_, err := get(t, named(s), egress.Settings{AllowPrivateIPs: true, AllowedHosts: []string{"other.example", list}})
		if (err == nil) != ok || err != nil && !errors.As(err, new(*egress.Refused)) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestURLsThatAreNone(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://a.example/": `scheme "ftp" is not allowed`, "/x": `scheme "" is not allowed`, "https:///x": "has no host", "": "scheme",
		"https://a.example:0/": "no port", "https://a.example/\r\nHost: b": "control character", "https://a.example\r\n/": "control character",
		"https://127.1/": "write 127.0.0.1", "https://0x7f000001/": "write 127.0.0.1", "https://[::ffff:1.2.3.4]/": "write 1.2.3.4",
		"https://a..example/": "no host name", "https://ex%zz/": "cannot be read", "https://a_b-.\u2024x/": "form", "https://x.1/": "no host name",
	} {
		if _, err := egress.NewTarget(url, local()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", url, err, want)
		}
	}
	target, err := egress.NewTarget("https://BÜCHER.example./ä?ä#x", local())
	if err != nil || target.ASCIIHost() != "xn--bcher-kva.example." || target.URL() != "https://xn--bcher-kva.example/%C3%A4?%C3%A4" {
		t.Errorf("%+v, %v", target, err)
	}
}

func FuzzNewTarget(f *testing.F) {
	for _, s := range []string{"https://a.example/x?y=z", "http://ü.example:80/", "https://u:p@[::1]:1/%00", "//x", "https://a\tb/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := egress.NewTarget(text, local())
		if err != nil {
			return
		}
		// What is requested is of one form: reading it again changes nothing.
		again, err := egress.NewTarget(target.URL(), local())
		if err != nil || again.URL() != target.URL() || again.Host() != target.Host() || strings.ContainsAny(target.URL(), " \r\n\x00@"[:4]) {
			t.Errorf("%q is requested as %q, read again as %v, %v", text, target.URL(), again, err)
		}
	})
}
