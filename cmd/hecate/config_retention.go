package main

import (
	"fmt"
	"strconv"
	"time"

	"hecate/cmd/hecate/internal/retain"
	"hecate/domain/retention"
)

// retained are the policies of the subsystems with what the settings of each begin with,
// in the order in which results list them.
var retained = []struct {
	prefix string
	retain.Policy
}{
	{"HECATE_RETENTION_TRACES_", retain.Policy{Name: retention.TraceSnapshots, MaxAge: 24 * time.Hour, MaxCount: 2000}},
	{"HECATE_RETENTION_USAGE_EVENTS_", retain.Policy{Name: retention.UsageEvents, MaxAge: 720 * time.Hour, MaxCount: 200}},
	{"HECATE_RETENTION_AUDIT_EVENTS_", retain.Policy{Name: retention.AuditEvents, MaxAge: 720 * time.Hour, MaxCount: 500}},
	{"HECATE_RETENTION_PROVIDER_HISTORY_", retain.Policy{Name: retention.ProviderHistory, MaxAge: 168 * time.Hour, MaxCount: 10_000}},
	{"HECATE_RETENTION_MODEL_CALL_EVENTS_", retain.Policy{Name: retention.ModelCallEvents, MaxAge: 168 * time.Hour, MaxCount: 100_000}},
	{"HECATE_RETENTION_CHAT_APPROVALS_", retain.Policy{Name: retention.ChatApprovals, MaxAge: 720 * time.Hour, MaxCount: 10_000}},
	{"HECATE_RETENTION_RUN_CONTENTS_", retain.Policy{Name: retention.RunContents}},
}

// readRetention reads MAX_AGE and MAX_COUNT of each subsystem.
func readRetention(values map[string]string) (out []retain.Policy, problems []error) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, r := range retained {
		p := r.Policy
		if text := values[r.prefix+"MAX_AGE"]; text != "" {
			age, err := time.ParseDuration(text)
			switch {
			case err != nil:
				add("%sMAX_AGE: %q is no duration such as 720h", r.prefix, text)
			case age < 0:
				add("%sMAX_AGE must not be negative; 0 sets no limit to the age", r.prefix)
			}
			p.MaxAge = age
		}
		if text := values[r.prefix+"MAX_COUNT"]; text != "" {
			count, err := strconv.ParseInt(text, 10, 64)
			switch {
			case err != nil:
				add("%sMAX_COUNT: %q is no whole number", r.prefix, text)
			case count < 0:
				add("%sMAX_COUNT must not be negative; 0 sets no limit to the number", r.prefix)
			}
			p.MaxCount = count
		}
		out = append(out, p)
	}
	return out, problems
}
