package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/api/auth"
)

// The server is asked to end after the answer is out, and only from its own machine.
func TestShutdown(t *testing.T) {
	asked := make(chan struct{}, 8)
	s := apitest.Start(t, apitest.Options{Shutdown: func() { asked <- struct{}{} }})
	for _, header := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "x-forwarded-for"} {
		for _, value := range []string{"127.0.0.1", "for=127.0.0.1", ""} {
			a := s.Do(t, "POST", base+"/system/shutdown", nil, header, value)
			if a.Status != http.StatusForbidden || a.ErrorType() != "forbidden" {
				t.Errorf("%s %q: %d %s", header, value, a.Status, a.Body)
			}
		}
	}
	if a := s.Do(t, "GET", base+"/system/shutdown", nil); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", a.Status)
	}
	select {
	case <-asked:
		t.Fatal("a refused request ended the server")
	default:
	}
	a := s.Do(t, "POST", base+"/system/shutdown", nil)
	if a.Status != http.StatusAccepted || strings.TrimSpace(string(a.Body)) != `{"object":"system_shutdown"}` || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
	}
	<-asked
	without := apitest.Start(t, apitest.Options{})
	if a := without.Do(t, "POST", base+"/system/shutdown", nil); a.Status != http.StatusServiceUnavailable || a.ErrorType() != "gateway_error" {
		t.Errorf("with nobody to ask: %d %s", a.Status, a.Body)
	}
}

func TestLocalOnly(t *testing.T) {
	for peer, allowed := range map[string]bool{
		"127.0.0.1:4000": true, "127.9.9.9:1": true, "[::1]:4000": true, "[::ffff:127.0.0.1]:4000": true,
		"192.168.1.7:4000": false, "[fe80::1%eth0]:4000": false, "0.0.0.0:1": false, "[::ffff:10.0.0.1]:4000": false, "@": false, "": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.RemoteAddr = peer
		if refused := auth.LocalOnly(r); (refused == nil) != allowed {
			t.Errorf("%q: %v", peer, refused)
		}
	}
}
