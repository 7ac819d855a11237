//go:build linux

package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With -shots the pictures of taking, of the history and of the system are taken anew.
func TestShotsOfWork(t *testing.T) {
	if *shots == "" {
		return
	}
	s := hasty(t)
	p, run, dir := rebuilt(t, s)
	write(t, filepath.Join(dir, "greet.go"), strings.Replace(content(t, dir, "greet.go"), "package", "// Package greet says hello.\npackage", 1))
	for _, shot := range []struct {
		name, path, there string
		width, height     int64
		dark              bool
	}{
		{"take", run + "/take", ".landed .diff mark", 1280, 800, true},
		{"restore", run + "/restore?before=" + s.secondPoint(t, run), ".landed .diff", 1280, 800, false},
		{"history", run + "/history", ".event-head", 1280, 800, false},
		{"system", "/system", ".list", 1280, 800, true},
	} {
		p.resize(shot.width, shot.height)
		p.dark(shot.dark)
		p.visit(shot.path)
		p.until(`!document.querySelector('.loading') && document.querySelector('h1').innerText !== '…' && document.querySelector('.connection.live') && document.querySelector(` + quote(shot.there) + `)`)
		p.must(os.WriteFile(filepath.Join(*shots, "console-"+shot.name+".png"), p.picture(), 0o644))
	}
}

// secondPoint is what the run's second call can be put back to.
func (s *server) secondPoint(t *testing.T, run string) string {
	t.Helper()
	return s.send(t, "GET", run+"/restore-points", nil)["list"].([]any)[1].(map[string]any)["id"].(string)
}
