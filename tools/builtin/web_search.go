package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/egress"
)

// Search says who answers web_search (HECATE_TASK_WEB_SEARCH_*).
type Search struct {
	Provider   string        // one of SearchProviders
	Key        string        // never shown
	Endpoint   string        // absolute http or https URL; "" = the provider's own
	Timeout    time.Duration // of one search; 0 = 15 s
	ResultsMax int           // of one search, 1 to 20; 0 = 5
	SafeSearch string        // off, moderate or strict, unless the call says; "" = moderate
	Country    string        // code such as DE, unless the call says
	Language   string        // code such as de, unless the call says
}

const (
	searchTimeoutDefault = 15 * time.Second
	searchResultsDefault = 5
	searchReadMax        = 64 << 10 // bytes of an answer, unpacked
	searchErrorMax       = 2 << 10  // bytes of an answer of failure that are shown
	searchQueryMax       = 4 << 10  // bytes of a query
	searchCodeMax        = 32       // bytes of a country or language
	searchKeyMin         = 8        // characters of a key that is looked for in answers
)

// SearchProviders are the names that Search.Provider can have.
func SearchProviders() []string {
	names := make([]string, len(searchProviders))
	for i, p := range searchProviders {
		names[i] = p.name
	}
	return names
}

// SafeSearches are what Search.SafeSearch can be.
func SafeSearches() []string { return []string{"off", "moderate", "strict"} }

// WebSearch makes the tool that asks the configured provider. Each call makes one request,
// to the endpoint and nowhere else: no redirect is followed. The endpoint may be private,
// because the operator chose it. It panics if there is no such provider.
func WebSearch(s Search) tools.Tool {
	i := slices.IndexFunc(searchProviders, func(p searchProvider) bool { return p.name == s.Provider })
	if i < 0 {
		panic(fmt.Sprintf("builtin: there is no search provider %q", s.Provider))
	}
	p := searchProviders[i]
	s.Endpoint, s.SafeSearch = cmp.Or(s.Endpoint, p.endpoint), cmp.Or(s.SafeSearch, "moderate")
	s.Timeout, s.ResultsMax = cmp.Or(s.Timeout, searchTimeoutDefault), cmp.Or(s.ResultsMax, searchResultsDefault)
	x := &searcher{s, p}
	return tools.New(tools.Spec[webSearchIn]{
		Name:    "web_search",
		Summary: fmt.Sprintf("Search the web and show titles, addresses and descriptions of at most %d results.%s", x.ResultsMax, x.provider.lacks),
		Check:   checkWebSearch,
		Input:   func(in webSearchIn) map[string]any { return map[string]any{"query": in.Query} },
		Line: func(in webSearchIn) (string, bool) {
			return fmt.Sprintf("web_search query withheld (query_bytes=%d)", len(in.Query)), false
		},
		Facts:  func(_ tools.Place, in webSearchIn) permission.Facts { return permission.Facts{Principal: in.Query} },
		Handle: x.run,
	})
}

type webSearchIn struct {
	Query      string `json:"query" jsonschema:"what to search for, at most 4096 bytes"`
	Count      int    `json:"count,omitempty" minimum:"1" maximum:"20" jsonschema:"how many results to show at most"`
	Offset     int    `json:"offset,omitempty" minimum:"0" jsonschema:"how many pages of results to pass over"`
	Freshness  string `json:"freshness,omitempty" enum:"pd,pw,pm,py" jsonschema:"only pages of the past day, week, month or year"`
	Country    string `json:"country,omitempty" jsonschema:"code of the country to search for, such as DE"`
	SearchLang string `json:"search_lang,omitempty" jsonschema:"code of the language of results, such as de"`
	SafeSearch string `json:"safe_search,omitempty" enum:"off,moderate,strict" jsonschema:"how much to leave out"`
}

func checkWebSearch(in *webSearchIn) error {
	in.Query = strings.TrimSpace(in.Query)
	switch {
	case in.Query == "":
		return errors.New("web_search: query is required")
	case len(in.Query) > searchQueryMax:
		return fmt.Errorf("web_search: the query has %d bytes; at most %d can be sent", len(in.Query), searchQueryMax)
	case in.Freshness != "" && !slices.Contains([]string{"pd", "pw", "pm", "py"}, in.Freshness):
		return errors.New("web_search: freshness must be pd, pw, pm or py")
	case in.SafeSearch != "" && !slices.Contains(SafeSearches(), in.SafeSearch):
		return errors.New("web_search: safe_search must be off, moderate or strict")
	case len(in.Country) > searchCodeMax || len(in.SearchLang) > searchCodeMax:
		return errors.New("web_search: country and search_lang are codes such as DE and de")
	}
	return nil
}

// searcher asks one provider.
type searcher struct {
	Search
	provider searchProvider
}

// wanted is the call with what it leaves to the configuration filled in.
func (x *searcher) wanted(in webSearchIn) webSearchIn {
	if in.Count == 0 || in.Count > x.ResultsMax {
		in.Count = x.ResultsMax
	}
	in.SafeSearch = cmp.Or(in.SafeSearch, x.SafeSearch)
	in.Country = cmp.Or(in.Country, x.Country)
	in.SearchLang = cmp.Or(in.SearchLang, x.Language)
	return in
}

func (x *searcher) run(ctx context.Context, env *tools.Env, in webSearchIn) tools.Result {
	in = x.wanted(in)
	found, err := x.ask(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Cancelled(ctx, env.ToolName)
		}
		return refused(env, "%s", x.clean(err.Error()))
	}
	if len(found.Results) > in.Count {
		found.Results = found.Results[:in.Count]
	}
	if found.Query == "" {
		found.Query = in.Query
	}
	res := done("web_search "+tools.Quoted(x.clean(in.Query)), x.clean(found.text(x.Provider)))
	res.Output = map[string]any{"provider": x.Provider, "result_count": len(found.Results), "more_results_available": found.More}
	return res
}

// ask makes the one request.
func (x *searcher) ask(ctx context.Context, in webSearchIn) (found, error) {
	ctx, stop := context.WithTimeout(ctx, x.Timeout)
	defer stop()
	status, body, err := x.fetch(ctx, in)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return found{}, fmt.Errorf("%s Search gave no answer within %s; configure HECATE_TASK_WEB_SEARCH_TIMEOUT to wait longer", x.provider.title, x.Timeout)
	case err != nil:
		return found{}, fmt.Errorf("ask %s Search: %w", x.provider.title, err)
	case status < 200 || status > 299:
		return found{}, fmt.Errorf("%s Search returned %d: %s", x.provider.title, status, tools.Cut(x.clean(tools.Valid(string(body))), searchErrorMax))
	case len(body) > searchReadMax:
		return found{}, fmt.Errorf("%s Search answered with more than %d bytes; ask for fewer results with count", x.provider.title, searchReadMax)
	}
	out, err := x.provider.answer(body)
	if err != nil {
		return found{}, fmt.Errorf("%s Search answered with what is no list of results: %w", x.provider.title, err)
	}
	return out, nil
}

// fetch returns the answer's status and at most one byte more of its body than may be read.
func (x *searcher) fetch(ctx context.Context, in webSearchIn) (status int, body []byte, err error) {
	req, err := x.provider.request(ctx, x.Endpoint, x.Key, in)
	if err != nil {
		return 0, nil, errors.New("the request cannot be made; check HECATE_TASK_WEB_SEARCH_ENDPOINT")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", egress.UserAgent)
	transport := egress.Transport(&egress.Dialer{Resolver: net.DefaultResolver, AllowPrivateIPs: true})
	defer transport.CloseIdleConnections()
	r, err := transport.RoundTrip(req) // and no Client, which would follow redirects
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	body, err = io.ReadAll(io.LimitReader(r.Body, searchReadMax+1))
	if len(body) > searchReadMax {
		err = nil
	}
	return r.StatusCode, body, err
}

// clean takes the key out of a text that somebody else wrote. A short one is left: it
// would take words out, and is none that a provider gives.
func (x *searcher) clean(text string) string {
	if len(x.Key) < searchKeyMin {
		return text
	}
	return strings.NewReplacer(x.Key, "[redacted]", url.QueryEscape(x.Key), "[redacted]").Replace(text)
}
