// Package projections holds what people and programs read: tasks, runs, steps,
// artifacts, approvals and conversations, all folded from the log and nothing else.
// They can be thrown away and built again at any time.
//
// This package declares the items as clients see them. projections/runner keeps
// order, checkpoints and rebuilds; projections/runs folds the streams of tasks and
// runs into rows and answers queries; projections/activity composes the time line;
// projections/usage sums up costs, projections/presets lists work policies, and
// projections/audit finds records by what they speak of.
package projections

import "time"

// TimeLayout is how times are shown: RFC 3339 in UTC, always with nine digits, so
// that the order of the strings is the order of the times.
const TimeLayout = "2006-01-02T15:04:05.000000000Z"

// FormatTime writes t as clients see it, "" for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeLayout)
}
