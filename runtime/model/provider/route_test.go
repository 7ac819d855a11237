package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hecate/domain/clock"
	"hecate/domain/fault"
	"hecate/runtime/model/provider"
)

// lists serves a list of models.
func lists(t *testing.T, models ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"`+strings.Join(models, `"},{"id":"`)+`"}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// gone is a server that does not run.
func gone(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL
}

func TestRoute(t *testing.T) {
	lister := lists(t, "listed-1", "listed-2")
	dead := gone(t)
	aCloud := provider.Config{Name: "acloud", BaseURL: "http://h", APIKey: "k", Models: []string{"a1", "both"}}
	zLocal := provider.Config{Name: "a_local", Kind: "local", BaseURL: "http://h", Models: []string{"l1", "both"}}
	keyless := provider.Config{Name: "keyless", BaseURL: "http://h", Models: []string{"k1"}}
	listing := provider.Config{Name: "listing", Kind: "local", BaseURL: lister}
	down := provider.Config{Name: "down", Kind: "local", BaseURL: dead}
	cases := map[string]struct {
		configs         []provider.Config
		provider, model string
		want            string // provider kind model, or the code of the fault
	}{
		"none":                          {nil, "", "", "unprocessable model_not_configured"},
		"none, model":                   {nil, "", "m", "unprocessable model_not_configured"},
		"both named, not listed":        {[]provider.Config{aCloud}, "acloud", "new", "acloud cloud new"},
		"provider in another spelling":  {[]provider.Config{zLocal}, "A-Local", "l1", "a_local local l1"},
		"provider alone":                {[]provider.Config{aCloud}, "acloud", "", "unprocessable model_not_configured"},
		"unknown provider":              {[]provider.Config{aCloud}, "other", "m", "unavailable route_impossible"},
		"provider without key":          {[]provider.Config{keyless}, "keyless", "k1", "unprocessable credential_missing"},
		"only a provider without key":   {[]provider.Config{keyless}, "", "", "unprocessable credential_missing"},
		"default: cloud before local":   {[]provider.Config{zLocal, aCloud, keyless}, "", "", "acloud cloud a1"},
		"default: discovered":           {[]provider.Config{down, listing}, "", "", "listing local listed-1"},
		"default: nobody lists":         {[]provider.Config{down}, "", "", "unprocessable model_not_configured"},
		"model in several":              {[]provider.Config{zLocal, aCloud}, "", "both", "acloud cloud both"},
		"model in one":                  {[]provider.Config{zLocal, aCloud}, "", "l1", "a_local local l1"},
		"model of one without key":      {[]provider.Config{keyless, aCloud, zLocal}, "", "k1", "invalid unsupported_model"},
		"model discovered":              {[]provider.Config{aCloud, down, listing}, "", "listed-2", "listing local listed-2"},
		"unlisted model, one provider":  {[]provider.Config{aCloud}, "", "new", "acloud cloud new"},
		"unlisted model, one is open":   {[]provider.Config{aCloud, listing, down}, "", "new", "down local new"},
		"unlisted model, nobody's open": {[]provider.Config{aCloud, listing}, "", "new", "invalid unsupported_model"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := provider.New(c.configs, provider.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Route(c.provider, c.model)
			got := r.Provider + " " + r.Kind + " " + r.Model
			if f, ok := fault.Of(err); ok {
				got = string(f.Kind) + " " + f.Code
			}
			if got != c.want || (err == nil) != (r.Client != nil) {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// The list of models is fetched once and used for a while, a failure for less long.
func TestDiscoveryIsRemembered(t *testing.T) {
	var broken atomic.Bool
	asked := atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	}))
	defer s.Close()
	now := &clock.Fixed{T: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	set, err := provider.New([]provider.Config{{Name: "x", Kind: "local", BaseURL: s.URL}}, provider.Options{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	if item := set.List()[0]; asked.Load() != 0 || item.DefaultModel != "" || !item.CheckedAt.IsZero() {
		t.Errorf("listing asks: %+v", item)
	}
	for i, step := range []struct {
		later  time.Duration
		broken bool
		force  bool
		asked  int64
	}{
		{0, false, false, 1},
		{4 * time.Minute, false, false, 1},
		{0, false, true, 2},
		{6 * time.Minute, true, false, 3}, // fails, the old list stays
		{10 * time.Second, true, false, 3},
		{10 * time.Second, false, false, 4},
	} {
		now.T = now.T.Add(step.later)
		broken.Store(step.broken)
		set.Discover(t.Context(), step.force)
		item := set.List()[0]
		if asked.Load() != step.asked || item.DefaultModel != "m" || item.DiscoverySource != "upstream_v1_models" || (item.LastError != "") != (i == 3 || i == 4) {
			t.Errorf("step %d: asked %d times, %+v", i, asked.Load(), item)
		}
	}
}

func TestSetChanges(t *testing.T) {
	s, err := provider.New(nil, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(provider.Config{Name: "openai"}); err != nil {
		t.Fatal(err)
	}
	if item := s.List()[0]; item.CredentialState != provider.CredentialMissing || item.BaseURL != "https://api.openai.com" {
		t.Errorf("got %+v", item)
	}
	if err := s.Put(provider.Config{Name: "openai", APIKey: "secret"}); err != nil {
		t.Fatal(err)
	}
	if items := s.List(); len(items) != 1 || items[0].CredentialState != provider.CredentialConfigured {
		t.Errorf("got %+v", items)
	}
	if err := s.Put(provider.Config{Name: "No Name"}); err == nil {
		t.Error("a bad name is accepted")
	}
	if !s.Remove("OpenAI") || s.Remove("openai") || len(s.List()) != 0 {
		t.Error("removing does not remove")
	}
	if err := s.Put(provider.Config{Name: "ollama"}); err != nil || s.List()[0].CredentialState != provider.CredentialNotRequired {
		t.Errorf("got %v, %+v", err, s.List())
	}
}
