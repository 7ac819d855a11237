package api_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"hecate/api/apitest"
	v1 "hecate/api/v1"
)

// knowledge is what a server knows of two providers.
type knowledge struct{}

func (knowledge) Status(_ context.Context, refresh bool) []v1.ProviderStatus {
	p := v1.ProviderStatus{
		Name: "groq", Kind: "cloud", CredentialState: "missing", Status: "unknown", RoutingBlockedReason: "credential_missing",
		Readiness: v1.ProviderReadiness{Status: "blocked", Reason: "credential_missing", Message: "there is no key", OperatorAction: "set PROVIDER_GROQ_API_KEY"},
	}
	if refresh {
		p.RefreshedAt = time.Date(2026, 2, 3, 9, 30, 0, 5, time.UTC)
	}
	return []v1.ProviderStatus{p}
}

func (knowledge) History(provider string, limit int) []v1.ProviderEvent {
	if provider == "other" {
		return nil
	}
	return []v1.ProviderEvent{{Provider: provider, Event: "failure", Status: "open", Reason: strconv.Itoa(limit)}}
}

func (knowledge) Presets() []v1.ProviderPreset {
	return []v1.ProviderPreset{{ID: "ollama", Name: "Ollama", Kind: "local", Protocol: "openai", BaseURL: "http://127.0.0.1:11434/v1"}}
}

// The operations on providers hand over what the server knows, as it is.
func TestProviders(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Providers: knowledge{}})
	d := readDocument(t, s)
	const unready = `{"name":"groq","kind":"cloud","credential_state":"missing","credential_ready":false,"healthy":false,"status":"unknown",` +
		`"routing_ready":false,"auto_route_ready":false,"routing_blocked_reason":"credential_missing","model_count":0,`
	const readiness = `"readiness":{"status":"blocked","reason":"credential_missing","message":"there is no key","operator_action":"set PROVIDER_GROQ_API_KEY"},"readiness_checks":[]}`
	for _, c := range []struct{ path, query, want string }{
		{"status", "", `{"object":"provider_status","data":[` + unready + readiness + `]}`},
		{"status", "?refresh=no", `{"object":"provider_status","data":[` + unready + readiness + `]}`},
		{"status", "?refresh=1", `{"object":"provider_status","data":[` + unready + `"refreshed_at":"2026-02-03T09:30:00.000000005Z",` + readiness + `]}`},
		{"history", "?provider=groq&limit=7", `{"object":"provider_health_history","data":[{"provider":"groq","event":"failure","status":"open","available":false,"reason":"7"}]}`},
		{"history", "?limit=99999", `{"object":"provider_health_history","data":[{"provider":"","event":"failure","status":"open","available":false,"reason":"1000"}]}`},
		{"history", "?provider=other", `{"object":"provider_health_history","data":[]}`},
		{"presets", "", `{"object":"provider_presets","data":[{"id":"ollama","name":"Ollama","kind":"local","protocol":"openai","base_url":"http://127.0.0.1:11434/v1"}]}`},
	} {
		a := s.Do(t, "GET", base+"/providers/"+c.path+c.query, nil)
		if got := string(a.Body); a.Status != http.StatusOK || got != c.want+"\n" {
			t.Errorf("%s%s: %d\n%s want\n%s", c.path, c.query, a.Status, got, c.want)
		}
		good := d.Paths[base+"/providers/"+c.path]["get"].Responses["200"].Content["application/json"]
		if err := fits(t, d.schema(t, good.Schema), a.Body); err != nil {
			t.Errorf("%s%s: %v", c.path, c.query, err)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=-1", "?limit=x"} {
		if a := s.Do(t, "GET", base+"/providers/history"+query, nil); a.Status != http.StatusBadRequest || a.ErrorType() != "invalid_request" {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}
