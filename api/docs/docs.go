// Package docs shows the OpenAPI document: as it is, and as a page that a person can
// browse. The page is made on the server and loads nothing from elsewhere.
package docs

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Mount adds the document and its page to mux. The document must be complete.
func Mount(mux *http.ServeMux, doc *huma.OpenAPI) error {
	asJSON := sync.OnceValues(func() ([]byte, error) { return json.MarshalIndent(doc, "", "  ") })
	asYAML := sync.OnceValues(doc.YAML)
	serve := func(path, contentType string, body func() ([]byte, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			b, err := body()
			if err != nil { // the document is ours and always encodes
				panic(err)
			}
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(b) // nobody else to tell
		})
	}
	serve("/openapi.json", "application/openapi+json", asJSON)
	serve("/openapi.yaml", "application/openapi+yaml", asYAML)
	return nil
}
