package provider

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestDiscoverAmong(t *testing.T) {
	serve := func(body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	stopped := httptest.NewServer(http.NotFoundHandler())
	stopped.Close()
	candidates := []Preset{
		{ID: "not-running", BaseURL: stopped.URL},
		{ID: "web-page", BaseURL: serve("<html>")},
		{ID: "no-model", BaseURL: serve(`{"data":[]}`)},
		{ID: "wanted", BaseURL: serve(`{"data":[{"id":"m1"},{"id":"m2"}]}`)},
		{ID: "too-late", BaseURL: serve(`{"data":[{"id":"m3"}]}`)},
	}
	name, baseURL, models, ok := discoverAmong(t.Context(), candidates)
	if !ok || name != "wanted" || baseURL != candidates[3].BaseURL || len(models) != 2 {
		t.Errorf("got %s, %s, %v, %v", name, baseURL, models, ok)
	}
	if _, _, _, ok := discoverAmong(t.Context(), candidates[:3]); ok {
		t.Error("found a server without models")
	}
}
