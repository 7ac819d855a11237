package main

import (
	"testing"
	"time"

	"hecate/cmd/hecate/internal/client"
)

// Times are read as people write them; what is none is no time.
func TestMoments(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-02-03":                "2026-02-03T00:00:00Z",
		"2026-02-03 09:30":          "2026-02-03T09:30:00Z",
		"2026-02-03T09:30:00+01:00": "2026-02-03T08:30:00Z",
		"90m":                       "2026-03-04T10:30:00Z",
		"3d":                        "2026-03-01T12:00:00Z",
		"0s":                        "2026-03-04T12:00:00Z",
		"-1h":                       "",
		"-1d":                       "",
		"1.5d":                      "",
		"yesterday":                 "",
		"2026-02-30":                "",
		"":                          "",
	} {
		at, err := moment(text, now)
		if got := at.UTC().Format(time.RFC3339); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
}

// Places are included as people count, and bad numbers are refused.
func TestAuditFilter(t *testing.T) {
	got, err := auditLog{From: 5, To: 9, Type: "a,b", Since: "1d", Run_: "r"}.filter(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	want := client.AuditFilter{Run: "r", Types: "a,b", Since: "2026-03-03T12:00:00Z", After: 4, Before: 10}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, c := range []auditLog{{Last: -1}, {From: -1}, {To: -1}, {From: 5, To: 3}, {Until: "x"}} {
		if _, err := c.filter(time.Time{}); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
