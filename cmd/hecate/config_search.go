package main

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"hecate/tools"
	"hecate/tools/builtin"
)

// searchKeys are the variables that hold a search provider's key where
// HECATE_TASK_WEB_SEARCH_API_KEY is not set.
var searchKeys = map[string]string{"brave": "BRAVE_SEARCH_API_KEY", "tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY"}

// searchResultsMost is the most that one search can bring.
const searchResultsMost = 20

// checkSearch is about web_search. The key, and an endpoint that may hold one, are not
// repeated in what it says.
func (c *config) checkSearch(add func(format string, args ...any)) {
	if c.SearchTimeout <= 0 {
		add("HECATE_TASK_WEB_SEARCH_TIMEOUT must be a positive duration such as 15s")
	}
	if c.SearchResultsMax < 1 {
		add("HECATE_TASK_WEB_SEARCH_MAX_RESULTS must be 1 to %d", searchResultsMost)
	}
	c.SearchResultsMax = min(c.SearchResultsMax, searchResultsMost)
	if c.SearchProvider == "" {
		return
	}
	if known := builtin.SearchProviders(); !slices.Contains(known, c.SearchProvider) {
		add("HECATE_TASK_WEB_SEARCH_PROVIDER is %q: use one of %s, or leave it out to have no web_search", c.SearchProvider, strings.Join(known, ", "))
		return
	}
	own := searchKeys[c.SearchProvider]
	c.SearchKey = strings.TrimSpace(cmp.Or(c.SearchKey, c.environ[own]))
	switch {
	case c.SearchKey == "":
		add("HECATE_TASK_WEB_SEARCH_PROVIDER=%s needs a key: set HECATE_TASK_WEB_SEARCH_API_KEY or %s", c.SearchProvider, own)
	case !httpguts.ValidHeaderFieldValue(c.SearchKey):
		add("the key of HECATE_TASK_WEB_SEARCH_API_KEY or %s has a character that no key can have", own)
	}
	if c.SearchProvider == "brave" && !slices.Contains(builtin.SafeSearches(), c.SearchSafe) {
		add("HECATE_TASK_WEB_SEARCH_SAFE_SEARCH is %q: use %s", c.SearchSafe, strings.Join(builtin.SafeSearches(), ", "))
	}
	if c.SearchEndpoint == "" {
		return
	}
	u, err := url.Parse(c.SearchEndpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		add("HECATE_TASK_WEB_SEARCH_ENDPOINT must be an absolute http or https URL without user information")
	}
}

// offered are the tools of the server: those of every server, and what is configured.
func (c *config) offered() []tools.Tool {
	all := builtin.All()
	if c.SearchProvider != "" {
		all = append(all, builtin.WebSearch(builtin.Search{
			Provider: c.SearchProvider, Key: c.SearchKey, Endpoint: c.SearchEndpoint, Timeout: c.SearchTimeout, ResultsMax: c.SearchResultsMax,
			SafeSearch: c.SearchSafe, Country: c.SearchCountry, Language: c.SearchLanguage,
		}))
	}
	return append(all, builtin.Direct()...)
}
