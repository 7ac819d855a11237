package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hecate/domain/fault"
	"hecate/runtime/model"
	"hecate/runtime/model/provider"
)

// slow answers a question for the models after so long, unless the one who asks gives up.
type slow time.Duration

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(s)):
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"data":[{"id":"late"}]}`)),
		}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func slowSet(t *testing.T, s slow) *provider.Set {
	t.Helper()
	set, err := provider.New([]provider.Config{{Name: "x", Kind: "local", BaseURL: "http://h"}}, provider.Options{HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func stateOf(s *provider.Set) string {
	routes, err := s.Candidates(context.Background(), "", "")
	var e *model.RouteError
	if !errors.As(err, &e) {
		return routes[0].Model
	}
	f, _ := fault.Of(e.Fault)
	if e.Pending {
		return f.Code + " pending"
	}
	return f.Code
}

// A server that takes longer than others wait for its first list of models is waited for, half
// a minute at most and once.
func TestFirstListOfModels(t *testing.T) {
	for name, c := range map[string]struct {
		answers slow
		then    string
		waited  time.Duration
	}{
		"a slow server": {slow(10 * time.Second), "late", 10 * time.Second},
		"a silent one":  {slow(time.Hour), "model_not_configured", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := slowSet(t, c.answers)
				if got := stateOf(s); got != "models_pending pending" {
					t.Errorf("at first %s", got)
				}
				begin := time.Now()
				go s.AwaitModels(t.Context()) // two runs share one question
				s.AwaitModels(t.Context())
				synctest.Wait()
				if took := time.Since(begin); took != c.waited {
					t.Errorf("waited %s, want %s", took, c.waited)
				}
				if got := stateOf(s); got != c.then {
					t.Errorf("then %s, want %s", got, c.then)
				}
			})
		})
	}
}

// Who gives up asking says nothing about the server, and whoever waits can give up as well.
func TestGivingUpIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowSet(t, slow(time.Second))
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		s.Discover(ctx, false)
		if item := s.List()[0]; item.LastError != "" || !item.CheckedAt.IsZero() {
			t.Errorf("the server is held to have failed: %+v", item)
		}
		if got := stateOf(s); got != "late" {
			t.Errorf("asked again it is %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := slowSet(t, slow(time.Hour))
		stateOf(s)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if s.AwaitModels(ctx); stateOf(s) != "models_pending pending" {
			t.Error("a wait that was given up counts as the server's")
		}
	})
}
