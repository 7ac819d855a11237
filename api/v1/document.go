package v1

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"hecate/api/auth"
	"hecate/api/envelope"
	"hecate/api/request"
)

// The names in the document of what proves who asks.
const (
	TokenScheme    = "runtimeToken"
	OperatorScheme = "operatorToken"
)

// tags are the groups of operations, in the order in which the document shows them.
var tags = []*huma.Tag{
	{Name: "Tasks", Description: "What somebody wants done. A task is an intent; its runs are the attempts at it."},
	{Name: "Runs", Description: "Attempts at a task: at most one of them is open at any time."},
	{Name: "Run details", Description: "What a run did: its steps, and the texts that it made."},
	{Name: "Approvals", Description: "Questions to a person. A run that asks holds no worker while it waits."},
	{Name: "Events", Description: "The history as it was recorded, as lists and as server-sent events. Sequences never repeat, so a reader that comes back with its last one misses nothing and sees nothing twice."},
	{Name: "Audit", Description: "Who did what, when, to which files and hosts, and who allowed it: the history by what its events speak of, whether the task still stands or not."},
	{Name: "Work policies", Description: "What an agent may do under a name, with which instructions and on which route. A task that is made from one keeps what it said then."},
	{Name: "Permissions", Description: "What calls of tools may do without asking, and what they may not do at all. The files of the server's machine say it, and what was given for a session."},
	{Name: "Usage", Description: "What model calls used and cost."},
	{Name: "Providers", Description: "Whom the server asks for models' answers, and how well they do."},
	{Name: "System", Description: "The server itself."},
}

// Describe adds to the document what concerns all operations.
func Describe(doc *huma.OpenAPI) {
	doc.Tags = tags
	describeFields(doc)
	if doc.Components.SecuritySchemes == nil {
		doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
	}
	doc.Components.SecuritySchemes[TokenScheme] = &huma.SecurityScheme{
		Type: "apiKey", In: "header", Name: auth.TokenHeader,
		Description: "The value of HECATE_RUNTIME_TOKEN, if the server has one.",
	}
	doc.Components.SecuritySchemes[OperatorScheme] = &huma.SecurityScheme{
		Type: "apiKey", In: "header", Name: auth.OperatorHeader,
		Description: "An operator's own token (hecate operators add NAME), beside the runtime token where the server has one. It proves who decides: the log has the name, " +
			"and where an agent's commands may be able to reach the server, decisions need it. A wrong one is refused, also where none is needed.",
	}
}

// document completes an operation in the OpenAPI document.
func (a *API) document(s spec) {
	doc := a.huma.OpenAPI()
	op := declared(doc.Paths[s.path], s.method)
	if s.body != nil {
		op.RequestBody = &huma.RequestBody{
			Required: !s.bodyOptional,
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: doc.Components.Schemas.Schema(s.body, true, s.id), Example: s.bodyExample,
			}},
		}
	}
	if !s.open { // with the token, or without where the server has none
		op.Security = []map[string][]string{{TokenScheme: {}}, {TokenScheme: {}, OperatorScheme: {}}, {OperatorScheme: {}}, {}}
	}
	if s.method == http.MethodGet && !s.open {
		op.Parameters = append(op.Parameters, minPositionParams()...)
	}
	if s.keyed {
		op.Parameters = append(op.Parameters, keyParam(), actorParam())
	}
	if s.operates {
		op.Responses[strconv.Itoa(http.StatusAccepted)] = &huma.Response{
			Description: "It is not done yet; ask for the operation.",
			Content: map[string]*huma.MediaType{"application/json": {
				Schema:  doc.Components.Schemas.Schema(reflect.TypeFor[envelope.Answer[operationItem]](), true, "getOperation"),
				Example: map[string]any{"object": "workspace_operation", "data": exampleOperation},
			}},
		}
	}
	delete(op.Responses, "default")
	for _, status := range failures(s) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: doc.Components.Schemas.Schema(errorType, true, "Error"),
			}},
		}
	}
	good := op.Responses[strconv.Itoa(max(s.status, http.StatusOK))]
	if s.answer != nil {
		good.Content = map[string]*huma.MediaType{"application/json": {Schema: doc.Components.Schemas.Schema(s.answer, true, s.id)}}
	}
	if s.media != "" {
		good.Content = map[string]*huma.MediaType{s.media: {Schema: &huma.Schema{Type: huma.TypeString}, Example: s.example}}
	} else if m := good.Content["application/json"]; m != nil && s.example != nil {
		m.Example = s.example
	}
	if good.Headers == nil {
		good.Headers = map[string]*huma.Header{}
	}
	good.Headers["X-Request-Id"] = &huma.Header{
		Description: "Identifies the request in the server's log; the client's own if it sent one.",
		Schema:      &huma.Schema{Type: huma.TypeString},
	}
}

func failures(s spec) []int {
	out := slices.Clone(s.fails)
	if !s.open { // 503: the demanded position is not reached, or the database is not there
		out = append(out, http.StatusUnauthorized, http.StatusServiceUnavailable)
	}
	if s.body != nil {
		out = append(out, http.StatusRequestEntityTooLarge)
	}
	return append(out, http.StatusForbidden, http.StatusInternalServerError)
}

func declared(p *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodPost:
		return p.Post
	case http.MethodPatch:
		return p.Patch
	case http.MethodDelete:
		return p.Delete
	}
	return p.Get
}

func keyParam() *huma.Param {
	least, most := 1, request.KeyMax
	return &huma.Param{
		Name: request.KeyHeader, In: "header", Example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		Description: "A name for this request, unique among the client's requests to this path. The same name again changes nothing and gets the first request's answer, " +
			"whatever the body says; so a request whose answer got lost can be sent again. A request that was refused did not use up its name.",
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most},
	}
}

// actorParam is who says to ask, where no token proves it.
func actorParam() *huma.Param {
	least, most := 1, auth.NameMax
	return &huma.Param{
		Name: auth.ActorHeader, In: "header", Example: "ci-bot",
		Description: "Who asks, in ASCII letters, digits and . _ @ -, for the log. Nothing proves it, so it allows nothing; a token's name counts before it.",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: `^[A-Za-z0-9._@-]+$`},
	}
}

func minPositionParams() []*huma.Param {
	const description = "Wait, up to two seconds, until the answer reflects at least this position of the log; 503 if it does not get there."
	zero := 0.0
	schema := &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &zero}
	return []*huma.Param{
		{Name: "Hecate-Min-Position", In: "header", Description: description, Schema: schema},
		{Name: "min_position", In: "query", Description: description, Schema: schema},
	}
}
