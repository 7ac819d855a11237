package main

import (
	"slices"
	"strings"
	"testing"

	"hecate/tools"
)

func TestConfigOfSearches(t *testing.T) {
	has := func(c config) bool {
		return slices.ContainsFunc(c.offered(), func(x tools.Tool) bool { return x.Name == "web_search" })
	}
	const provider, key = "HECATE_TASK_WEB_SEARCH_PROVIDER=", "HECATE_TASK_WEB_SEARCH_API_KEY="
	for _, c := range []struct {
		environ []string
		key     string // "" if there is no web_search
	}{
		{nil, ""},
		{[]string{key + "planted", "BRAVE_SEARCH_API_KEY=planted"}, ""},
		{[]string{provider, key + "planted"}, ""},
		{[]string{provider + "brave", key + " planted\t"}, "planted"},
		{[]string{provider + "brave", "BRAVE_SEARCH_API_KEY=planted"}, "planted"},
		{[]string{provider + "tavily", "TAVILY_API_KEY=planted", "EXA_API_KEY=other"}, "planted"},
		{[]string{provider + "exa", "EXA_API_KEY=other", key + "planted"}, "planted"},
		{[]string{provider + "exa", key + "planted", "HECATE_TASK_WEB_SEARCH_ENDPOINT=http://10.0.0.1:8080/search?x=y", "HECATE_TASK_WEB_SEARCH_SAFE_SEARCH=anything"}, "planted"},
	} {
		got, err := readConfig(c.environ)
		if err != nil || has(got) != (c.key != "") || c.key != "" && got.SearchKey != c.key {
			t.Errorf("%q: %v, %t, %q", c.environ, err, has(got), got.SearchKey)
		}
	}
	if c, err := readConfig([]string{"HECATE_TASK_WEB_SEARCH_MAX_RESULTS=50"}); err != nil || c.SearchResultsMax != 20 {
		t.Errorf("%d, %v", c.SearchResultsMax, err)
	}
}

// All that is wrong is named, and nothing that may be secret is repeated.
func TestConfigOfSearchesThatCannotHold(t *testing.T) {
	_, err := readConfig([]string{
		"HECATE_TASK_WEB_SEARCH_PROVIDER=brave", "HECATE_TASK_WEB_SEARCH_API_KEY=planted\nkey", "HECATE_TASK_WEB_SEARCH_ENDPOINT=https://u:planted@a.example/",
		"HECATE_TASK_WEB_SEARCH_TIMEOUT=0s", "HECATE_TASK_WEB_SEARCH_MAX_RESULTS=0", "HECATE_TASK_WEB_SEARCH_SAFE_SEARCH=planted?",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"API_KEY", "ENDPOINT", "TIMEOUT", "MAX_RESULTS", "SAFE_SEARCH"} {
		if !strings.Contains(err.Error(), "HECATE_TASK_WEB_SEARCH_"+name) {
			t.Errorf("%s is not in: %v", name, err)
		}
	}
	if strings.Contains(strings.ReplaceAll(err.Error(), `"planted?"`, ""), "planted") {
		t.Errorf("shows a secret: %v", err)
	}
	for want, environ := range map[string][]string{
		`is "google": use one of brave, tavily, exa`:                      {"HECATE_TASK_WEB_SEARCH_PROVIDER=google"},
		"set HECATE_TASK_WEB_SEARCH_API_KEY or TAVILY_API_KEY":            {"HECATE_TASK_WEB_SEARCH_PROVIDER=tavily", "EXA_API_KEY=x"},
		"HECATE_TASK_WEB_SEARCH_TIMEOUT":                                  {"HECATE_TASK_WEB_SEARCH_TIMEOUT=15"},
		"HECATE_TASK_WEB_SEARCH_MAX_RESULTS":                              {"HECATE_TASK_WEB_SEARCH_MAX_RESULTS=few"},
		"HECATE_TASK_WEB_SEARCH_ENDPOINT must be an absolute":             {"HECATE_TASK_WEB_SEARCH_PROVIDER=exa", "EXA_API_KEY=x", "HECATE_TASK_WEB_SEARCH_ENDPOINT=search"},
		"HECATE_TASK_HTTP_MAX_RESPONSE_BYTES must be at most 16777216; a": {"HECATE_TASK_HTTP_MAX_RESPONSE_BYTES=16777217"},
	} {
		if _, err := readConfig(environ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", environ, err)
		}
	}
}
