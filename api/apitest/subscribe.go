package apitest

import (
	"context"
	"net/http"
	"testing"
)

// Subscribe opens a stream. Close the response's body, or end ctx, to leave.
func (s *Server) Subscribe(ctx context.Context, t testing.TB, path string, headers ...string) (*http.Response, *Stream) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", path, resp.StatusCode)
	}
	return resp, NewStream(resp.Body)
}
