package docs

import (
	"bytes"
	_ "embed" // the template
	"html/template"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed page.html
var layout string

func render(doc *huma.OpenAPI) ([]byte, error) {
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, newPage(doc))
	return b.Bytes(), err
}
