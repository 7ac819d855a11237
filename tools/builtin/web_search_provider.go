package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// searchProvider knows how one service is asked and how it answers.
type searchProvider struct {
	name, title, endpoint string
	lacks                 string // a sentence about arguments that it has no use for
	request               func(ctx context.Context, endpoint, key string, in webSearchIn) (*http.Request, error)
	read                  func(body []byte) (found, error)
}

var searchProviders = []searchProvider{
	{"brave", "Brave", "https://api.search.brave.com/res/v1/web/search", "", askBrave, readBrave},
	{"tavily", "Tavily", "https://api.tavily.com/search", " offset, country, search_lang and safe_search have no effect.", askTavily, readTavily},
	{"exa", "Exa", "https://api.exa.ai/search", " offset, freshness, search_lang and safe_search have no effect.", askExa, readExa},
}

// answer reads what the service sent. A result without an address leads nowhere and is
// left out.
func (p searchProvider) answer(body []byte) (found, error) {
	out, err := p.read(body)
	out.Results = slices.DeleteFunc(out.Results, func(r searchResult) bool { return line(r.URL) == "" })
	return out, err
}

func askBrave(ctx context.Context, endpoint, key string, in webSearchIn) (*http.Request, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("q", in.Query)
	q.Set("count", strconv.Itoa(in.Count))
	q.Set("offset", strconv.Itoa(in.Offset))
	q.Set("extra_snippets", "true")
	for name, v := range map[string]string{"freshness": in.Freshness, "safesearch": in.SafeSearch, "country": in.Country, "search_lang": in.SearchLang} {
		if v != "" {
			q.Set(name, v)
		}
	}
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", key)
	return req, nil
}

func readBrave(body []byte) (found, error) {
	var r struct {
		Query struct {
			Original string `json:"original"`
			More     bool   `json:"more_results_available"`
		} `json:"query"`
		Web struct {
			Results []struct {
				Title       string   `json:"title"`
				URL         string   `json:"url"`
				Description string   `json:"description"`
				Snippets    []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return found{}, err
	}
	out := found{Query: r.Query.Original, More: r.Query.More}
	for _, x := range r.Web.Results {
		out.Results = append(out.Results, searchResult(x))
	}
	return out, nil
}

// timeRanges are Tavily's words for freshness.
var timeRanges = map[string]string{"pd": "day", "pw": "week", "pm": "month", "py": "year"}

func askTavily(ctx context.Context, endpoint, key string, in webSearchIn) (*http.Request, error) {
	req, err := postJSON(ctx, endpoint, struct {
		Query         string `json:"query"`
		MaxResults    int    `json:"max_results"`
		SearchDepth   string `json:"search_depth"`
		IncludeAnswer bool   `json:"include_answer"`
		TimeRange     string `json:"time_range,omitempty"`
	}{in.Query, in.Count, "basic", false, timeRanges[in.Freshness]})
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	return req, nil
}

func readTavily(body []byte) (found, error) {
	var r struct {
		Query   string `json:"query"`
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return found{}, err
	}
	out := found{Query: r.Query}
	for _, x := range r.Results {
		out.Results = append(out.Results, searchResult{Title: x.Title, URL: x.URL, Description: x.Content})
	}
	return out, nil
}

func askExa(ctx context.Context, endpoint, key string, in webSearchIn) (*http.Request, error) {
	type contents struct {
		Highlights bool `json:"highlights"`
	}
	req, err := postJSON(ctx, endpoint, struct {
		Query        string   `json:"query"`
		NumResults   int      `json:"numResults"`
		Contents     contents `json:"contents"`
		UserLocation string   `json:"userLocation,omitempty"`
	}{in.Query, in.Count, contents{true}, in.Country})
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	return req, nil
}

func readExa(body []byte) (found, error) {
	var r struct {
		Results []struct {
			Title      string   `json:"title"`
			URL        string   `json:"url"`
			Text       string   `json:"text"`
			Summary    string   `json:"summary"`
			Highlights []string `json:"highlights"`
			Published  string   `json:"publishedDate"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return found{}, err
	}
	var out found
	for _, x := range r.Results {
		s := searchResult{Title: x.Title, URL: x.URL, Description: x.Summary, Snippets: x.Highlights}
		if s.Description == "" {
			s.Description = x.Text
		}
		if x.Published != "" {
			s.Snippets = append(s.Snippets, "published "+x.Published)
		}
		out.Results = append(out.Results, s)
	}
	return out, nil
}

func postJSON(ctx context.Context, endpoint string, v any) (*http.Request, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // one request a call: never sent anew
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}
