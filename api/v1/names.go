package v1

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaNames are types that the document calls differently.
var schemaNames = map[string]string{
	"Item":             "Event",
	"Detail":           "ErrorDetail",
	"TaskRequest":      "CreateTaskRequest",
	"StartRequest":     "StartTaskRequest",
	"EventRequest":     "PostEventRequest",
	"CancelRequest":    "CancelRunRequest",
	"ResolveRequest":   "ResolveApprovalRequest",
	"RebuildRequest":   "RebuildProjectionsRequest",
	"RetryRequest":     "RetryRunRequest",
	"ResumeRequest":    "ResumeRunRequest",
	"ContinueRequest":  "ContinueRunRequest",
	"BranchRequest":    "RetryRunFromModelCallRequest",
	"SettleRequest":    "SettleStepRequest",
	"EventsOutputBody": "EventPage",
	"AuditPageBody":    "AuditPage",

	"AheadRequest":       "RunPermissions",
	"CallChoice":         "CallAnswer",
	"AcceptRequest":      "AcceptPermissionsRequest",
	"RevokeEntryRequest": "RevokePermissionRequest",
	"RevokeGrantRequest": "RevokeSessionGrantRequest",
	"Problem":            "PermissionProblem",
	"Limits":             "RepetitionLimits",
}

// SchemaName is what the document calls a type. Answers are called after their data.
func SchemaName(t reflect.Type, hint string) string {
	name, suffix := huma.DefaultSchemaNamer(t, hint), ""
	for _, a := range []struct{ prefix, suffix string }{{"AnswerList", "List"}, {"Answer", "Answer"}} {
		if rest, ok := strings.CutPrefix(name, a.prefix); ok {
			name, suffix = rest, a.suffix
			break
		}
	}
	if other, ok := schemaNames[name]; ok {
		name = other
	}
	return name + suffix
}
