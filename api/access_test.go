package api_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/api/auth"
)

// A page in the operator's browser cannot use the server, whatever it tries.
func TestForeignRequestsAreRefused(t *testing.T) {
	s := apitest.Start(t, apitest.Options{
		Origins: []string{"https://ops.example.com"}, Address: "0.0.0.0:8765", Public: "https://hecate.example.com/x",
	})
	id := s.Task(t, nil)
	own := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		name    string
		headers []string
		allowed bool
	}{
		{"no headers", nil, true},
		{"own origin", []string{"Origin", "http://" + own, "Sec-Fetch-Site", "same-origin"}, true},
		{"typed into the address bar", []string{"Sec-Fetch-Site", "none"}, true},
		{"named origin", []string{"Origin", "https://ops.example.com", "Sec-Fetch-Site", "cross-site"}, true},
		{"localhost", []string{"Host", "localhost:1"}, true},
		{"localhost with a dot", []string{"Host", "LOCALHOST."}, true},
		{"loopback v6", []string{"Host", "[::1]:9"}, true},
		{"address while listening on all", []string{"Host", "192.168.1.7:8765"}, true},
		{"public name", []string{"Host", "hecate.example.com"}, true},
		{"name of a named origin", []string{"Host", "ops.example.com"}, true},

		{"rebound name", []string{"Host", "evil.example.com"}, false},
		{"rebound name and equal origin", []string{"Host", "evil.example.com:1", "Origin", "http://evil.example.com:1"}, false},
		{"name that begins well", []string{"Host", "127.0.0.1.evil.example.com"}, false},
		{"null origin", []string{"Origin", "null"}, false},
		{"foreign origin", []string{"Origin", "https://evil.example.com"}, false},
		{"other port", []string{"Origin", "http://127.0.0.1:1"}, false},
		{"file origin", []string{"Origin", "file://" + own}, false},
		{"two origins", []string{"Origin", "http://" + own, "Origin", "https://evil.example.com"}, false},
		{"cross-site", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"same site, other port", []string{"Sec-Fetch-Site", "same-site"}, false},
		{"foreign origin through a proxy", []string{"Origin", "https://evil.example.com", "X-Forwarded-Host", "evil.example.com", "Forwarded", "for=127.0.0.1;host=localhost"}, false},
	} {
		for _, path := range []string{"/healthz", base + "/tasks", base + "/nothing", "/openapi.json"} {
			a := s.Do(t, "GET", path, nil, c.headers...)
			refused := a.Status == http.StatusForbidden && a.ErrorType() == "forbidden"
			if refused == c.allowed {
				t.Errorf("%s on %s: %d %s", c.name, path, a.Status, a.Body)
			}
		}
	}
	// Bodies that a page can send without asking first, also without an Origin.
	for _, ct := range []string{"text/plain", "TEXT/PLAIN; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		a := s.Do(t, "POST", base+"/tasks/"+id+"/start", "{}", "Content-Type", ct)
		if a.Status != http.StatusForbidden {
			t.Errorf("%s: %d %s", ct, a.Status, a.Body)
		}
	}
	var runs []apitest.Item
	if s.Do(t, "GET", base+"/tasks/"+id+"/runs", nil).Data(t, &runs); len(runs) != 0 {
		t.Errorf("a refused request opened %d runs", len(runs))
	}
}

func TestToken(t *testing.T) {
	const token = "0123456789abcdef01234567"
	s := apitest.Start(t, apitest.Options{Token: token})
	for _, c := range []struct {
		path    string
		headers []string
		status  int
	}{
		{"/healthz", nil, 200},
		{"/openapi.json", nil, 200},
		{base + "/tasks", nil, 401},
		{base + "/nothing", nil, 401},
		{base, nil, 401},
		{base + "/events/stream", nil, 401},
		{base + "/tasks", []string{auth.TokenHeader, "wrong"}, 401},
		{base + "/tasks", []string{auth.TokenHeader, token + " "}, 200}, // white space around a header is no part of it
		{base + "/tasks", []string{"Authorization", "Bearer " + token}, 401},
		{base + "/tasks", []string{auth.TokenHeader, token}, 200},
		{base + "/nothing", []string{auth.TokenHeader, token}, 404},
		{"/hecate/v1x", nil, 404},
	} {
		a := s.Do(t, "GET", c.path, nil, c.headers...)
		if a.Status != c.status || a.Status == 401 && a.ErrorType() != "unauthorized" {
			t.Errorf("%s %v: %d %s", c.path, c.headers, a.Status, a.Body)
		}
	}
}

// A client's request id is kept if it is sane; nobody writes lines into the log with it.
func TestRequestID(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for given, kept := range map[string]bool{"abc-1": true, "": false, "with space": false, strings.Repeat("x", 129): false, "\u00e9": false} {
		got := s.Do(t, "GET", "/healthz", nil, "X-Request-Id", given).Header.Get("X-Request-Id")
		if got == "" || (got == given) != kept {
			t.Errorf("%q became %q", given, got)
		}
	}
}

// The cause of an internal error is in the log, not in the answer.
func TestInternalErrorsStayInside(t *testing.T) {
	var log bytes.Buffer
	s := apitest.Start(t, apitest.Options{Log: &log, Slow: true})
	_ = s.Store.Close()
	a := s.Do(t, "POST", base+"/tasks", `{"prompt":"x","execution_kind":"agent_loop"}`, "X-Request-Id", "find-me")
	if a.Status != http.StatusInternalServerError || a.ErrorType() != "gateway_error" || strings.Contains(string(a.Body), "closed") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if !strings.Contains(log.String(), "find-me") || !strings.Contains(log.String(), "closed") {
		t.Errorf("the log says: %s", log.String())
	}
}
