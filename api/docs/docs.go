// Package docs shows the OpenAPI document: as it is, and as a page that a person can
// browse. The page is made on the server and loads nothing from elsewhere.
package docs

import (
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Mount adds the document and its page to mux. The document must be complete.
func Mount(mux *http.ServeMux, doc *huma.OpenAPI) {
	serve(mux, "/openapi.json", "application/openapi+json", func() ([]byte, error) { return json.MarshalIndent(doc, "", "  ") })
	serve(mux, "/openapi.yaml", "application/openapi+yaml", doc.YAML)
	serve(mux, "/docs", "text/html; charset=utf-8", func() ([]byte, error) { return render(doc) })
}

// serve answers with what body makes at the first request.
func serve(mux *http.ServeMux, path, contentType string, body func() ([]byte, error)) {
	once := sync.OnceValues(body)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		b, err := once()
		if err != nil { // the document is ours: a bug, which the server reports as such
			panic(fmt.Errorf("make %s: %w", path, err))
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(b) // nobody else to tell
	})
}

//go:embed page.css
var style string

//go:embed page.js
var script string

// policy lets the page run its own two parts and nothing else.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	source(style), source(script))

func source(part string) string {
	sum := sha256.Sum256([]byte(part))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
