package builtin_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// searchKey is a key that must turn up nowhere but in its header.
const searchKey = "planted-KEY/with+odd=characters"

// searchService answers every search with one text, and writes down how it was asked.
type searchService struct {
	*httptest.Server
	status int
	answer string
	header http.Header // of the answer
	asked  []string
}

func newSearchService(t *testing.T) *searchService {
	s := &searchService{status: http.StatusOK, header: http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.RequestURI)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
		}
		fmt.Fprintf(&b, "\n%s\n", body)
		s.asked = append(s.asked, b.String())
		maps.Copy(w.Header(), s.header)
		w.WriteHeader(s.status)
		fmt.Fprint(w, s.answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *searchService) tool(provider string) tools.Tool {
	return builtin.WebSearch(builtin.Search{Provider: provider, Key: searchKey, Endpoint: s.URL + "/find?own=1"})
}

// answers are what the providers send, with members that nobody knows.
var answers = map[string]string{
	"brave": `{"type":"search","query":{"original":"go \"http\"","more_results_available":true,"altered":"x"},"web":{"results":[
		{"title":"The Go <b>net/http</b>\npackage","url":"https://pkg.go.dev/net/http","description":"Clients and\u2028servers.","extra_snippets":["One.","","Two\n3. forged"],"age":"x"},
		{"title":"","url":"https://untitled.example/"}]}}`,
	"tavily": `{"query":"go http","answer":null,"results":[{"title":"A","url":"https://a.example/","content":"About a.","score":0.9},{"title":"B","url":"https://b.example/","content":""}],"response_time":1}`,
	"exa": `{"requestId":"x","results":[
		{"title":"A","url":"https://a.example/","text":"the whole text","summary":"A summary.","highlights":["h1","h2"],"publishedDate":"2026-01-02T00:00:00.000Z"},
		{"title":null,"url":"https://b.example/","text":"only a text","author":"x"}]}`,
}

func TestWebSearchByProvider(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	for _, provider := range builtin.SearchProviders() {
		s := newSearchService(t)
		x := s.tool(provider)
		w := tooltest.New(t)
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", x.Summary)
		for _, a := range []args{
			{"query": " go \"http\" & <more> "},
			{"query": "ü", "count": 3, "offset": 2, "freshness": "pw", "country": "DE", "search_lang": "de", "safe_search": "strict"},
			{"query": "many", "count": 20, "freshness": "pd"},
		} {
			s.answer = answers[provider]
			r := w.Call(x, a)
			step, err := json.Marshal(r.Output)
			if err != nil || r.Error {
				t.Fatalf("%+v, %v", r, err)
			}
			fmt.Fprintf(&b, "\n== asked\n%s== answered\n%s\n-- %s %s\n", s.asked[len(s.asked)-1], r.Text, r.Title, step)
		}
		s.answer = `{"results":[]}`
		fmt.Fprintf(&b, "\n== nothing\n%s\n", w.Call(x, args{"query": "nothing"}).Text)
		s.status, s.answer = http.StatusTooManyRequests, `{"error":"slow down, `+searchKey+`"}`
		fmt.Fprintf(&b, "\n== refused\n%s\n", w.Call(x, args{"query": "again"}).Text)
		if len(s.asked) != 5 {
			t.Errorf("%s: 5 calls made %d requests", provider, len(s.asked))
		}
		golden(t, "web_search_"+provider+".txt", strings.ReplaceAll(b.String(), s.URL, "http://SEARCH"))
	}
}

func TestWebSearchArguments(t *testing.T) {
	x := builtin.WebSearch(builtin.Search{Provider: "brave", Key: searchKey})
	for text, want := range map[string]string{
		`{}`: "web_search: query is required", `{"query":" \n"}`: "web_search: query is required", `{"query":"x","freshness":"now"}`: "web_search: freshness must be",
		`{"query":"x","safe_search":"no"}`: "web_search: safe_search must be", `{"query":"x","country":"` + strings.Repeat("x", 99) + `"}`: "are codes",
		`{"query":"` + strings.Repeat("x", 5000) + `"}`: "at most 4096",
	} {
		if _, err := x.Prepare([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
	p, err := x.Prepare([]byte(`{"query":"secret plans","count":99}`))
	if err != nil || p.Line != "web_search query withheld (query_bytes=12)" || p.Complete || p.Facts(tools.Place{}).Principal != "secret plans" {
		t.Errorf("%+v, %v", p, err)
	}
}

// The operator's settings hold where the call says nothing, and bound how much it gets.
func TestWebSearchSettings(t *testing.T) {
	s := newSearchService(t)
	var results []string
	for i := range 30 {
		results = append(results, fmt.Sprintf(`{"title":"r%d","url":"https://a.example/%d"}`, i, i))
	}
	s.answer = `{"web":{"results":[` + strings.Join(results, ",") + `]}}`
	x := builtin.WebSearch(builtin.Search{Provider: "brave", Key: searchKey, Endpoint: s.URL, ResultsMax: 7, SafeSearch: "off", Country: "AT", Language: "de"})
	w := tooltest.New(t)
	for _, c := range []struct {
		args args
		want string
		n    int
	}{
		{args{"query": "x"}, "/?count=7&country=AT&extra_snippets=true&offset=0&q=x&safesearch=off&search_lang=de", 7},
		{args{"query": "x", "count": 20, "country": "CH", "safe_search": "strict"}, "/?count=7&country=CH&extra_snippets=true&offset=0&q=x&safesearch=strict&search_lang=de", 7},
		{args{"query": "x", "count": -1, "offset": -5}, "/?count=7&country=AT&extra_snippets=true&offset=0&q=x&safesearch=off&search_lang=de", 7},
		{args{"query": "x", "count": 1}, "/?count=1&country=AT&extra_snippets=true&offset=0&q=x&safesearch=off&search_lang=de", 1},
	} {
		r := w.Call(x, c.args)
		if got := s.asked[len(s.asked)-1]; !strings.HasPrefix(got, "GET "+c.want+"\n") || r.Output["result_count"] != c.n || strings.Count(r.Text, "https://a.example/") != c.n {
			t.Errorf("%v: %s\n%+v", c.args, got, r)
		}
	}
}

// However a provider or the network fails, the answer is an error of one call, made by one
// request, and does not show the key.
func TestWebSearchFailures(t *testing.T) {
	for _, c := range []struct {
		name, provider string
		status         int
		answer         string
		header         http.Header
		want           string
	}{
		{"key echoed", "tavily", 401, "no such key: " + searchKey, nil, "web_search: Tavily Search returned 401: no such key: [redacted]"},
		{"key echoed, escaped", "exa", 403, "?key=planted-KEY%2Fwith%2Bodd%3Dcharacters", nil, "web_search: Exa Search returned 403: ?key=[redacted]"},
		{"redirect", "brave", 307, "", http.Header{"Location": {"/other"}}, "web_search: Brave Search returned 307: "},
		{"unreadable redirect", "brave", 302, "", http.Header{"Location": {"https://%zz/" + searchKey}}, "web_search: Brave Search returned 302: "},
		{"long failure", "brave", 500, strings.Repeat("x", 1<<20), nil, "web_search: Brave Search returned 500: " + strings.Repeat("x", 2048)},
		{"no JSON", "brave", 200, "<html>", nil, "web_search: Brave Search answered with what is no list of results: "},
		{"another JSON", "exa", 200, `{"results":5}`, nil, "web_search: Exa Search answered with what is no list of results: "},
		{"too long", "tavily", 200, `{"results":[]}` + strings.Repeat(" ", 64<<10), nil, "web_search: Tavily Search answered with more than 65536 bytes; ask for fewer results with count"},
		{"bomb", "tavily", 200, bomb(), http.Header{"Content-Encoding": {"gzip"}}, "web_search: Tavily Search answered with more than 65536 bytes"},
		{"cut off", "tavily", 200, `{}`, http.Header{"Content-Length": {"100"}}, "web_search: ask Tavily Search: unexpected EOF"},
	} {
		s := newSearchService(t)
		s.status, s.answer, s.header = c.status, c.answer, c.header
		r := tooltest.New(t).Call(s.tool(c.provider), args{"query": "x"})
		if !r.Error || !strings.HasPrefix(r.Text, c.want) || len(r.Text) > 4<<10 || len(s.asked) != 1 {
			t.Errorf("%s: %d requests, %.300s", c.name, len(s.asked), r.Text)
		}
		if all := fmt.Sprintf("%+v", r); strings.Contains(all, "planted") {
			t.Errorf("%s shows the key: %s", c.name, all)
		}
	}
	x := builtin.WebSearch(builtin.Search{Provider: "exa", Key: searchKey, Endpoint: "http://127.0.0.1:1/?key=" + searchKey})
	if r := tooltest.New(t).Call(x, args{"query": "x"}); !strings.HasPrefix(r.Text, "web_search: ask Exa Search: dial tcp 127.0.0.1:1") || strings.Contains(r.Text, "planted") {
		t.Error(r.Text)
	}
}

func bomb() string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, 8<<20))
	_ = z.Close()
	return b.String()
}

// A result that repeats the key, which a provider can know, is shown without it.
func TestWebSearchResultsShowNoKey(t *testing.T) {
	s := newSearchService(t)
	s.answer = `{"query":"` + searchKey + `","results":[{"title":"` + searchKey + `","url":"https://a.example/?k=` + searchKey + `","content":"` + searchKey + `"}]}`
	x := s.tool("tavily")
	r := tooltest.New(t).Call(x, args{"query": "x"})
	p, err := x.Prepare([]byte(`{"query":"x"}`))
	if err != nil || r.Error {
		t.Fatal(err, r.Text)
	}
	if all := fmt.Sprintf("%+v %+v %s %s", r, p.Input, p.Line, x.Schema); strings.Contains(all, "planted") || strings.Count(r.Text, "[redacted]") != 4 {
		t.Error(all)
	}
	if !strings.Contains(s.asked[0], "Authorization: Bearer "+searchKey) {
		t.Errorf("asked without the key: %s", s.asked[0])
	}
}

func TestWebSearchEnds(t *testing.T) {
	block, begun := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "cancelled") {
			close(begun)
		}
		<-block
	}))
	defer s.Close()
	defer close(block)
	search := func(ctx context.Context, query string, timeout time.Duration) tools.Result {
		x := builtin.WebSearch(builtin.Search{Provider: "brave", Key: searchKey, Endpoint: s.URL, Timeout: timeout})
		return tooltest.New(t).CallContext(ctx, x, args{"query": query})
	}
	if r := search(t.Context(), "slow", 30*time.Millisecond); r.Text != "web_search: Brave Search gave no answer within 30ms; configure HECATE_TASK_WEB_SEARCH_TIMEOUT to wait longer" {
		t.Error(r.Text)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-begun
		cancel(tools.ErrRunEnded)
	}()
	if r := search(ctx, "cancelled", time.Hour); r.ErrorKind != tools.KindCancelled {
		t.Errorf("%+v", r)
	}
}

// Answers of any shape give text in which every result begins on a line of its own.
func FuzzWebSearchAnswers(f *testing.F) {
	for _, provider := range builtin.SearchProviders() {
		f.Add(provider, answers[provider])
	}
	f.Fuzz(func(t *testing.T, provider, answer string) {
		provider = cmp.Or(map[string]string{"tavily": "tavily", "exa": "exa"}[provider], "brave")
		text, n, err := builtin.SearchAnswer(provider, []byte(answer))
		if err != nil {
			return
		}
		if blank := strings.Count(text, "\n\n"); blank != n || strings.ContainsAny(text, "\r\x1b\x00") {
			t.Errorf("%d results, %d blank lines: %q", n, blank, text)
		}
	})
}

func TestWebSearchConforms(t *testing.T) {
	s := newSearchService(t)
	for _, provider := range builtin.SearchProviders() {
		s.answer = answers[provider]
		t.Run(provider, func(t *testing.T) {
			c := cases["web_search"]
			c.Tool = s.tool(provider)
			tooltest.Conformance(t, c)
		})
	}
}
