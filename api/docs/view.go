package docs

import (
	"cmp"
	"encoding/json"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// page is what the template shows.
type page struct {
	Title, Version string
	About          template.HTML
	Style          template.CSS
	Script         template.JS
	Groups         []*group
	Schemas        []schema
}

type group struct {
	Name  string
	About template.HTML
	Ops   []op
}

type op struct {
	ID, Method, Path string
	Summary          string
	About            template.HTML
	Params           []field
	Body             *body
	Answers          []answer
	Curl             string
}

type body struct {
	Type     template.HTML
	Fields   []field
	Required bool
	Example  string
}

type answer struct {
	Status  string
	Text    string
	Good    bool
	Type    template.HTML
	Headers []field
	Example string
}

type schema struct {
	Name   string
	Fields []field
}

// field is a parameter, a header or a member of a schema.
type field struct {
	Name, In string
	Type     template.HTML
	Required bool
	About    template.HTML
	Values   []string
}

func newPage(doc *huma.OpenAPI) page {
	p := page{
		Title: doc.Info.Title, Version: doc.Info.Version, About: prose(doc.Info.Description),
		Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // both are ours
	}
	byTag := map[string]*group{}
	for _, t := range doc.Tags {
		g := &group{Name: t.Name, About: prose(t.Description)}
		byTag[t.Name] = g
		p.Groups = append(p.Groups, g)
	}
	for path, item := range doc.Paths {
		for method, o := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if o == nil || len(o.Tags) == 0 || byTag[o.Tags[0]] == nil {
				continue
			}
			g := byTag[o.Tags[0]]
			g.Ops = append(g.Ops, newOp(method, path, o, doc.Components.Schemas))
		}
	}
	for _, g := range p.Groups {
		slices.SortFunc(g.Ops, func(a, b op) int {
			return cmp.Or(cmp.Compare(rank[a.Method], rank[b.Method]), cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.Path, b.Path))
		})
	}
	for name, s := range doc.Components.Schemas.Map() {
		p.Schemas = append(p.Schemas, schema{Name: name, Fields: members(s)})
	}
	slices.SortFunc(p.Schemas, func(a, b schema) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

// rank puts what changes something first.
var rank = map[string]int{http.MethodPost: 0, http.MethodPatch: 1, http.MethodGet: 2, http.MethodDelete: 3}

func newOp(method, path string, o *huma.Operation, all huma.Registry) op {
	out := op{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, About: prose(o.Description)}
	for _, p := range o.Parameters {
		out.Params = append(out.Params, field{
			Name: p.Name, In: p.In, Type: typeOf(p.Schema), Required: p.Required, About: prose(cmp.Or(p.Description, p.Schema.Description)), Values: values(p.Schema),
		})
	}
	if o.RequestBody != nil {
		m := o.RequestBody.Content["application/json"]
		out.Body = &body{Type: typeOf(m.Schema), Required: o.RequestBody.Required, Example: example(m.Example)}
		if s := all.SchemaFromRef(m.Schema.Ref); s != nil {
			out.Body.Fields = members(s)
		}
	}
	for status, r := range o.Responses {
		out.Answers = append(out.Answers, newAnswer(status, r))
	}
	slices.SortFunc(out.Answers, func(a, b answer) int { return cmp.Compare(a.Status, b.Status) })
	out.Curl = curl(method, path, o)
	return out
}

func newAnswer(status string, r *huma.Response) answer {
	a := answer{Status: status, Text: r.Description, Good: status[0] == '2'}
	for media, m := range r.Content {
		a.Type, a.Example = typeOf(m.Schema), example(m.Example)
		if media != "application/json" {
			a.Type = template.HTML("<code>" + html.EscapeString(media) + "</code>") //nolint:gosec // escaped
		}
	}
	for name, h := range r.Headers {
		a.Headers = append(a.Headers, field{Name: name, Type: typeOf(h.Schema), About: prose(cmp.Or(h.Description, h.Schema.Description))})
	}
	slices.SortFunc(a.Headers, func(a, b field) int { return cmp.Compare(a.Name, b.Name) })
	return a
}

// members returns what an object has, what is always there first.
func members(s *huma.Schema) []field {
	var out []field
	for name, m := range s.Properties {
		out = append(out, field{Name: name, Type: typeOf(m), Required: slices.Contains(s.Required, name), About: prose(m.Description), Values: values(m)})
	}
	slices.SortFunc(out, func(a, b field) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out
}

func values(s *huma.Schema) (out []string) {
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// typeOf names a type, with a link if it has a name of its own.
func typeOf(s *huma.Schema) template.HTML {
	if s == nil {
		return ""
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		name = html.EscapeString(name)
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`) //nolint:gosec // escaped
	}
	if s.Type == huma.TypeArray && s.Items != nil {
		return typeOf(s.Items) + "[]"
	}
	name := cmp.Or(s.Type, "any")
	if s.Format != "" && s.Format != "int64" {
		name += " (" + s.Format + ")"
	}
	return template.HTML(html.EscapeString(name)) //nolint:gosec // escaped
}

func example(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// curl is the request for a terminal.
func curl(method, path string, o *huma.Operation) string {
	var b strings.Builder
	b.WriteString("curl -s")
	if o.Responses["200"] != nil && o.Responses["200"].Content["text/event-stream"] != nil {
		b.WriteString("N")
	}
	if method != http.MethodGet {
		b.WriteString(" -X " + method)
	}
	url := pathParam.ReplaceAllStringFunc(path, func(p string) string { return "$" + strings.ToUpper(strings.Trim(p, "{}")) })
	b.WriteString(` "$HECATE` + url + `"`)
	if len(o.Security) > 0 {
		b.WriteString(" \\\n  -H \"X-Hecate-Runtime-Token: $HECATE_RUNTIME_TOKEN\"")
	}
	if o.RequestBody != nil {
		if m := o.RequestBody.Content["application/json"]; m.Example != nil {
			raw, err := json.Marshal(m.Example)
			if err == nil {
				b.WriteString(" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(string(raw), "'", `'\''`) + "'")
			}
		}
	}
	return b.String()
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// prose is text for people, with `code`.
func prose(s string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(html.EscapeString(s), "<code>$1</code>")) //nolint:gosec // escaped
}
