// Package console serves the web console: pages on which a person starts tasks, watches
// runs, answers approvals and reviews changes.
//
// The console is a client like any other: it speaks the public API and nothing else, so
// this package knows nothing of tasks. Its sources (src) and libraries (lib) are part of
// the binary and are bundled at the first request for a page.
package console

import (
	"bytes"
	"net/http"
	"path"
	"strings"
	"time"
)

// assets is the path below which everything but the pages lies.
const assets = "/console/"

// pages are the paths that show the console; which page it is, the script finds out.
var pages = []string{"/{$}", "/tasks", "/tasks/", "/approvals", "/approvals/", "/history", "/history/", "/system", "/system/"}

// policy lets a page run its own script and speak to its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Mount adds the pages and what they load to mux. Paths that are none of them stay unknown,
// so that a mistyped path of the API is no page; for people there is Nowhere.
func Mount(mux *http.ServeMux) {
	for _, p := range pages {
		mux.HandleFunc("GET "+p, func(w http.ResponseWriter, r *http.Request) { send(w, r, "index.html") })
	}
	mux.HandleFunc("GET "+assets+"{name}", func(w http.ResponseWriter, r *http.Request) { send(w, r, r.PathValue("name")) })
}

// Nowhere answers a browser that asks for a page which does not exist: with the console, which
// says so and leads on, and the status 404.
func Nowhere(w http.ResponseWriter, r *http.Request) {
	r = r.Clone(r.Context()) // what the browser has of a page is not asked for: its answer would be no 404
	for _, name := range []string{"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"} {
		r.Header.Del(name)
	}
	send(&missing{w}, r, "index.html")
}

// missing turns a success into a 404.
type missing struct{ http.ResponseWriter }

func (m *missing) WriteHeader(status int) {
	if status == http.StatusOK {
		m.Header().Del("ETag")
		m.Header().Set("Cache-Control", "no-store")
		status = http.StatusNotFound
	}
	m.ResponseWriter.WriteHeader(status)
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

func send(w http.ResponseWriter, r *http.Request, name string) {
	b, err := bundle()
	if err != nil { // the sources are ours: a bug, which the server reports as such
		panic(err)
	}
	f, ok := b[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", f.tag)
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, chunks) { // its name says what is in it
		h.Set("Cache-Control", "max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.content))
}
