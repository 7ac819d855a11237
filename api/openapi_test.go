package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// document is what the tests read of the OpenAPI document.
type document struct {
	OpenAPI    string
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas         map[string]json.RawMessage
		SecuritySchemes map[string]any
	}
	resolved map[string]*jsonschema.Resolved // by text
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []struct {
		Name, In, Description string
		Required              bool
		Schema                json.RawMessage
	}
	RequestBody *struct{ Content map[string]media }
	Responses   map[string]struct {
		Description string
		Content     map[string]media
	}
	Security []map[string][]string
}

type media struct {
	Schema  json.RawMessage
	Example json.RawMessage
}

func readDocument(t *testing.T, s *apitest.Server) *document {
	t.Helper()
	d := &document{resolved: map[string]*jsonschema.Resolved{}}
	if err := json.Unmarshal(s.Do(t, "GET", "/openapi.json", nil).Body, d); err != nil {
		t.Fatal(err)
	}
	return d
}

var schemaRef = regexp.MustCompile(`#/components/schemas/(\w+)`)

// schema resolves a schema of the document, with what it refers to.
func (d *document) schema(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	if r := d.resolved[string(raw)]; r != nil {
		return r
	}
	defs := map[string]json.RawMessage{}
	var move func(json.RawMessage) json.RawMessage
	move = func(b json.RawMessage) json.RawMessage {
		for _, m := range schemaRef.FindAllSubmatch(b, -1) {
			if name := string(m[1]); defs[name] == nil {
				defs[name] = json.RawMessage("{}") // being moved
				defs[name] = move(d.Components.Schemas[name])
			}
		}
		return schemaRef.ReplaceAll(b, []byte("#/$$defs/$1"))
	}
	moved := move(raw)
	root, err := json.Marshal(map[string]any{"$defs": defs, "allOf": []any{moved}})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(root, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	d.resolved[string(raw)] = r
	return r
}

func fits(t *testing.T, s *jsonschema.Resolved, value []byte) error {
	t.Helper()
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatalf("%v in %s", err, value)
	}
	return s.Validate(v)
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// unprocessable are the operations whose request can be right and still ask for what
// cannot be: opening a run, and editing permission files.
var unprocessable = []string{"startTask", "retryRun", "resumeRun", "continueRun", "retryRunFromModelCall", "acceptPermissions", "revokePermission"}

// The document says everything that a client's author needs, and nothing twice.
func TestDocumentIsComplete(t *testing.T) {
	d := readDocument(t, apitest.Start(t, apitest.Options{}))
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("version %s", d.OpenAPI)
	}
	tags := map[string]bool{}
	for _, tag := range d.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	ids := map[string]bool{}
	for path, item := range d.Paths {
		for method, o := range item {
			at := method + " " + path
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || !tags[o.Tags[0]] {
				t.Errorf("%s: id %q, summary %q, tags %v", at, o.OperationID, o.Summary, o.Tags)
			}
			ids[o.OperationID] = true
			checkParameters(t, at, path, o)
			good := 0
			for status, r := range o.Responses {
				if _, done := o.Responses["200"]; status[0] == '2' && !(status == "202" && done) { // both: it can take a worker longer
					good++
				}
				if r.Description == "" || status == "422" && !slices.Contains(unprocessable, o.OperationID) {
					t.Errorf("%s: answer %s", at, status)
				}
				for _, m := range r.Content {
					d.schema(t, m.Schema)
					if m.Example != nil && r.Content["text/event-stream"].Schema == nil {
						if err := fits(t, d.schema(t, m.Schema), m.Example); err != nil {
							t.Errorf("%s: example of %s: %v", at, status, err)
						}
					}
				}
			}
			if good != 1 || o.Responses["500"].Content == nil {
				t.Errorf("%s: answers %v", at, slices.Collect(maps.Keys(o.Responses)))
			}
			if o.RequestBody == nil {
				continue
			}
			m := o.RequestBody.Content["application/json"]
			if m.Example != nil {
				if err := fits(t, d.schema(t, m.Schema), m.Example); err != nil {
					t.Errorf("%s: example of the body: %v", at, err)
				}
			}
		}
	}
}

func checkParameters(t *testing.T, at, path string, o operation) {
	t.Helper()
	var inPath, declared []string
	for _, m := range pathParam.FindAllStringSubmatch(path, -1) {
		inPath = append(inPath, m[1])
	}
	for _, p := range o.Parameters {
		if p.Description == "" || len(p.Schema) == 0 {
			t.Errorf("%s: parameter %s has no description or schema", at, p.Name)
		}
		if p.In == "path" {
			declared = append(declared, p.Name)
			if !p.Required {
				t.Errorf("%s: path parameter %s is not required", at, p.Name)
			}
		}
	}
	slices.Sort(inPath)
	slices.Sort(declared)
	if !slices.Equal(inPath, declared) {
		t.Errorf("%s: parameters %v, declared %v", at, inPath, declared)
	}
}

func TestEverySchemaIsDescribed(t *testing.T) {
	d := readDocument(t, apitest.Start(t, apitest.Options{}))
	for name, raw := range d.Components.Schemas {
		var s struct {
			Type                 any
			Properties           map[string]struct{ Description string }
			AdditionalProperties any
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if s.Type != "object" || s.AdditionalProperties != nil {
			t.Errorf("%s is a %v, additional members: %v", name, s.Type, s.AdditionalProperties)
		}
		for member, m := range s.Properties {
			if m.Description == "" {
				t.Errorf("%s.%s has no description", name, member)
			}
		}
	}
}

// What the server answers is what the document says.
func TestAnswersFitTheDocument(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seal, _ := sealer(t, s)
	if err := seal.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := readDocument(t, s)
	ids := strings.NewReplacer("{task_id}", apitest.TaskID, "{run_id}", apitest.RunID, "{step_id}", "step_5", "{approval_id}", "approval_1", "{preset_id}", "planning", "{operation_id}", apitest.OperationID, "{sequence}", "5")
	for path, item := range d.Paths {
		o, ok := item["get"]
		if !ok || o.Responses["200"].Content["text/event-stream"].Schema != nil {
			continue
		}
		artifact := run.FinalAnswerID(apitest.RunID)
		if o.OperationID == "getPatch" {
			artifact = "artifact_3"
		}
		url := strings.ReplaceAll(ids.Replace(path), "{artifact_id}", artifact)
		a := s.Do(t, "GET", url, nil, "Hecate-Min-Position", strconv.FormatInt(head, 10))
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", url, a.Status, a.Body)
			continue
		}
		if err := fits(t, d.schema(t, o.Responses["200"].Content["application/json"].Schema), a.Body); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	missing := s.Do(t, "GET", base+"/tasks/nope", nil)
	if err := fits(t, d.schema(t, d.Components.Schemas["Error"]), missing.Body); err != nil {
		t.Errorf("an error: %v", err)
	}
}

// The page has every operation, and its policy allows exactly its own two parts.
func TestDocsPage(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	a := s.Do(t, "GET", "/docs", nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", a.Status, a.Header)
	}
	for _, item := range readDocument(t, s).Paths {
		for _, o := range item {
			if !bytes.Contains(a.Body, []byte(`<article id="`+o.OperationID+`">`)) {
				t.Errorf("%s is not on the page", o.OperationID)
			}
		}
	}
	for _, tag := range []string{"style", "script"} {
		part := regexp.MustCompile(fmt.Sprintf(`(?s)<%s>(.*?)</%s>`, tag, tag)).FindSubmatch(a.Body)
		sum := sha256.Sum256(part[1])
		if want := "sha256-" + base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(a.Header.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy does not allow the %s", tag)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="(?:https?:)?//[^"]*"`).Find(a.Body); m != nil {
		t.Errorf("the page loads %s", m)
	}
	if y := s.Do(t, "GET", "/openapi.yaml", nil); !bytes.Contains(y.Body, []byte("operationId: createTask")) {
		t.Error("no YAML")
	}
}
