package builtin

import "slices"

// Tools with another way to look up names.
var (
	NewWebFetch    = newWebFetch
	NewHTTPRequest = newHTTPRequest
)

// SearchAnswer is what a model sees of an answer of a search provider, and how many results
// are in it.
func SearchAnswer(provider string, body []byte) (text string, results int, err error) {
	i := slices.IndexFunc(searchProviders, func(p searchProvider) bool { return p.name == provider })
	f, err := searchProviders[i].answer(body)
	return f.text(provider), len(f.Results), err
}
