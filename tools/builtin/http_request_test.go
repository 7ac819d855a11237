package builtin_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// service answers requests with what they were, and has paths that misbehave.
func service(t *testing.T) (home string, asked *[]string) {
	block := make(chan struct{})
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.RequestURI)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch r.URL.Path {
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "it broke")
		case "/long":
			fmt.Fprint(w, strings.Repeat("é", 100))
		case "/bytes":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write([]byte{0xff, 0, 'a'})
		case "/untyped":
			w.Header()["Content-Type"] = nil
		case "/type":
			w.Header().Set("Content-Type", "text/plain truncated=true "+strings.Repeat("x", 500))
		case "/moved":
			http.Redirect(w, r, "/echo?from=moved", http.StatusSeeOther)
		case "/down":
			http.Redirect(w, r, "ftp://a.example/", http.StatusFound)
		case "/unreadable":
			w.Header().Set("Location", "https://ex%zz/")
			w.WriteHeader(http.StatusFound)
		case "/secret":
			http.Redirect(w, r, "/denied", http.StatusFound)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 32<<20))
			_ = z.Close()
		case "/slow":
			fmt.Fprint(w, "a beginning")
			w.(http.Flusher).Flush()
			<-block
		default:
			fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
			for _, name := range []string{"Accept", "Authorization", "Cookie", "User-Agent", "X-A"} {
				if v := r.Header.Get(name); v != "" {
					fmt.Fprintf(w, "%s: %s\n", name, v)
				}
			}
			fmt.Fprintf(w, "\n%s", body)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(block) })
	return s.URL, asked
}

func TestHTTPRequestResults(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	home, _ := service(t)
	w := tooltest.New(t)
	w.Env.Settings.HTTP.AllowPrivateIPs = true
	w.Env.DeniedURL = func(url, _ string) string {
		if strings.HasSuffix(url, "/denied") {
			return "denied by config (network.deny) a.example"
		}
		return ""
	}
	request := builtin.NewHTTPRequest(&at{addr: netip.MustParseAddr("127.0.0.1")})
	var b strings.Builder
	for _, a := range []args{
		{"url": "/echo?q=1#part"},
		{"url": "/echo", "method": "post", "headers": args{"x-a": "1", "Authorization": "Bearer t", "Cookie": "a=b"}, "body": "a body\nof two lines"},
		{"url": "/echo", "method": "PUT", "body": "x"},
		{"url": "/echo", "method": "PATCH"},
		{"url": "/echo", "method": "DELETE"},
		{"url": "/echo", "method": ""},
		{"url": "/echo", "method": "HEAD"},
		{"url": "/empty"},
		{"url": "/broken"},
		{"url": "/nothing", "method": "GET"},
		{"url": "/bytes"},
		{"url": "/untyped"},
		{"url": "/type"},
		{"url": "/unreadable"},
		{"url": "/moved", "method": "POST", "body": "x"},
		{"url": "/down"},
		{"url": "/secret"},
	} {
		fmt.Fprintf(&b, "== %v %v\n", a["method"], a["url"])
		a["url"] = home + a["url"].(string)
		r := w.Call(request, a)
		step, err := json.Marshal(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n-- %s, %s %s\n", r.Text, r.Title, step, r.ErrorKind)
	}
	w.Env.Settings.HTTP.ResponseMaxBytes = 5
	fmt.Fprintf(&b, "== at most 5 bytes\n%s\n", w.Call(request, args{"url": home + "/long"}).Text)
	golden(t, "http_request.txt", strings.ReplaceAll(b.String(), home, "http://HOME"))
}

func TestHTTPRequestLimits(t *testing.T) {
	home, _ := service(t)
	w := tooltest.New(t)
	w.Env.Settings.HTTP.AllowPrivateIPs = true
	request := builtin.NewHTTPRequest(&at{})
	// What counts is the body as it comes out of its packing, also if the model asks for a packing.
	for _, headers := range []args{{}, {"Accept-Encoding": "gzip"}} {
		if r := w.Call(request, args{"url": home + "/bomb", "headers": headers}); r.Output["bytes_read"] != 256<<10 || r.Output["truncated"] != true {
			t.Errorf("%v: %+v", headers, r.Output)
		}
	}
	w.Env.Settings.HTTP.Timeout = 50 * time.Millisecond
	if r := w.Call(request, args{"url": home + "/slow"}); r.Text != "http_request: no whole answer within 50ms; configure HECATE_TASK_HTTP_TIMEOUT to wait longer" {
		t.Error(r.Text)
	}
}

func TestHTTPRequestErrors(t *testing.T) {
	home, asked := service(t)
	w := tooltest.New(t)
	refusal := func(addr string, a args) string {
		x := builtin.NewHTTPRequest(&at{addr: parse(addr)})
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Prepare(raw); err != nil {
			return err.Error()
		}
		return w.Call(x, a).Text
	}
	w.Env.Settings.HTTP.AllowedHosts = nil
	var b strings.Builder
	for _, c := range []struct {
		addr string
		args args
	}{
		{"", args{"url": "https://a.example/", "method": "BREW"}},
		{"", args{"url": "https://a.example/", "method": "GET / HTTP/1.1\r\nX: y"}},
		{"", args{"url": "ftp://a.example/"}},
		{"", args{"url": "a.example"}},
		{"", args{"url": ""}},
		{"", args{"url": "https:///x"}},
		{"", args{"url": "https://a.example\r\nX: y/"}},
		{"", args{"url": "https://2130706433/"}},
		{"", args{"url": "https://a.example/", "headers": args{"Host": "b.example"}}},
		{"", args{"url": "https://a.example/", "headers": args{"X-A": "1\r\nX-B: 2"}}},
		{"", args{"url": "https://a.example/", "headers": args{"X A": "1"}}},
		{"", args{"url": "https://gone.example/"}},
		{"", args{"url": home + "/echo"}},
		{"", args{"url": "http://[::1]/"}},
		{"10.1.2.3", args{"url": "https://inside.example/"}},
		{"169.254.169.254", args{"url": "http://metadata.example/latest"}},
	} {
		line, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n    %s\n", line, refusal(c.addr, c.args))
	}
	w.Env.Settings.HTTP.AllowedHosts = []string{"docs.rs"}
	fmt.Fprintf(&b, "only docs.rs is listed\n    %s\n", refusal("93.184.216.34", args{"url": "https://a.example/"}))
	golden(t, "http_request_errors.txt", strings.ReplaceAll(b.String(), home, "http://HOME"))
	if len(*asked) > 0 {
		t.Errorf("asked %q", *asked)
	}
}

func parse(addr string) netip.Addr {
	a, _ := netip.ParseAddr(addr)
	return a
}

// What people and steps see of a request holds none of its secrets.
func TestHTTPRequestShowsNoSecrets(t *testing.T) {
	r := &at{addr: netip.MustParseAddr("93.184.216.34")}
	request := builtin.NewHTTPRequest(r)
	const url = "https://user:pw@bücher.example:8443/hook/x?token=planted"
	raw, err := json.Marshal(args{"url": url, "method": "post", "headers": args{"x-b": "planted", "authorization": "planted"}, "body": "planted"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := request.Prepare(raw)
	if err != nil {
		t.Fatal(err)
	}
	if p.Line != "http_request method=POST origin=https://xn--bcher-kva.example:8443" || p.Complete {
		t.Errorf("%q %t", p.Line, p.Complete)
	}
	in := p.Input
	if in["url"] != "https://xn--bcher-kva.example:8443/hook/x" || in["method"] != "POST" || in["body_bytes"] != 7 || !slices.Equal(in["header_names"].([]string), []string{"Authorization", "X-B"}) {
		t.Errorf("%v", in)
	}
	if shown, _ := json.Marshal(in); strings.Contains(string(shown), "planted") || strings.Contains(string(shown), "pw") {
		t.Errorf("%s", shown)
	}
	here := place(t)
	for _, nowhere := range []tools.Place{{}, {Root: here.Root, Path: here.Path, Offline: true}} {
		if f := p.Facts(nowhere); len(f.Addrs) > 0 || r.asked > 0 {
			t.Errorf("%+v after %d look-ups", f, r.asked)
		}
	}
	if f := p.Facts(here); f.Principal != url || f.ASCIIHost != "xn--bcher-kva.example" || !slices.Equal(f.Addrs, []netip.Addr{r.addr}) || r.asked != 1 {
		t.Errorf("%+v after %d look-ups", f, r.asked)
	}
	for text, complete := range map[string]bool{
		`{"url":"https://a.example"}`: true, `{"url":"https://a.example/","method":"DELETE"}`: true, `{"url":"https://a.example/x"}`: false, `{"url":"https://a.example?"}`: false,
		`{"url":"https://a.example#x"}`: false, `{"url":"https://u@a.example"}`: false, `{"url":"https://a.example","headers":{"Accept":"x"}}`: false,
		`{"url":"https://a.example","body":"x"}`: false,
	} {
		if p, err := request.Prepare([]byte(text)); err != nil || p.Complete != complete {
			t.Errorf("%s: %t, %v", text, p.Complete, err)
		}
	}
}
