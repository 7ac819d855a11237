package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hecate/api/apitest"
)

// A page comes with a policy that lets nothing in from elsewhere, and has nothing inline.
func TestPages(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Token: "secret"})
	for _, path := range []string{"/", "/tasks", "/tasks/new", "/tasks/task_1/runs/run_2/changes", "/approvals", "/history/7", "/system"} {
		a := s.Do(t, "GET", path, nil)
		if a.Status != http.StatusOK || !strings.Contains(string(a.Body), "/console/app.js") {
			t.Errorf("%s: status %d, %.200s", path, a.Status, a.Body)
		}
		policy := a.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		if regexp.MustCompile(`https?://|<style|\sstyle=|\son\w+=|unsafe`).MatchString(string(a.Body) + policy) {
			t.Errorf("%s has something inline or from elsewhere:\n%s", path, a.Body)
		}
	}
	for _, path := range []string{"/taskz", "/hecate/v1/nothing", "/console/nothing.js"} {
		if a := s.Do(t, "GET", path, nil, "X-Hecate-Runtime-Token", "secret"); a.Status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, a.Status)
		}
	}
}

// A browser that asks for a page which does not exist gets the console's own words, with the
// status of what is not there. Programs, and whoever asks the API, get the API's.
func TestNowhere(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	tag := s.Do(t, "GET", "/", nil).Header.Get("ETag")
	for _, path := range []string{"/taskz", "/a/b%2fc", "/hecate", "/hecate/v2/tasks"} {
		a := s.Do(t, "GET", path, nil, "Accept", browser, "If-None-Match", tag)
		if a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "/console/app.js") || a.Header.Get("Content-Security-Policy") == "" || a.Header.Get("ETag") != "" {
			t.Errorf("%s: status %d, %v, %.200s", path, a.Status, a.Header, a.Body)
		}
	}
	for _, c := range [][3]string{{"GET", "/taskz", "*/*"}, {"GET", "/taskz", ""}, {"POST", "/taskz", browser}, {"GET", "/hecate/v1", browser}, {"GET", "/hecate/v1/taskz", browser}} {
		if a := s.Do(t, c[0], c[1], nil, "Accept", c[2]); a.Status != http.StatusNotFound || a.ErrorType() != "not_found" {
			t.Errorf("%v: status %d, %.200s", c, a.Status, a.Body)
		}
	}
}

// What did not change is not sent again.
func TestAssetsAreSentOnce(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for path, kind := range map[string]string{"/": "text/html", "/console/app.js": "text/javascript", "/console/style.css": "text/css", "/console/icon.svg": "image/svg+xml"} {
		a := s.Do(t, "GET", path, nil)
		tag := a.Header.Get("ETag")
		if a.Status != http.StatusOK || tag == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: status %d, ETag %q, %s", path, a.Status, tag, a.Header.Get("Content-Type"))
		}
		if again := s.Do(t, "GET", path, nil, "If-None-Match", tag); again.Status != http.StatusNotModified || len(again.Body) > 0 {
			t.Errorf("%s again: status %d, %d bytes", path, again.Status, len(again.Body))
		}
	}
}

// Every vendored file is the one that the script made.
func TestLibraries(t *testing.T) {
	raw, err := os.ReadFile("lib/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	err = fs.WalkDir(os.DirFS("lib"), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == "SHA256SUMS" {
			return err
		}
		b, err := os.ReadFile(filepath.Join("lib", p))
		if sum := sha256.Sum256(b); want[p] != hex.EncodeToString(sum[:]) {
			t.Errorf("lib/%s is not what SHA256SUMS says: make it anew with .ci/console/vendor", p)
		}
		delete(want, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("lib/%s is missing", name)
	}
}
