package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/retain"
	"hecate/domain/permission"
)

func TestConfigDefaults(t *testing.T) {
	c, err := readConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Address != "127.0.0.1:8765" || c.Backend != "sqlite" || c.SQLitePath != ".data/hecate.db" || c.Workers != 1 || c.ModelCallsMax != 8 {
		t.Errorf("%+v", c)
	}
	if len(c.Policies) != len(permission.Default) {
		t.Errorf("policies %v", c.Policies)
	}
}

// Policies that are set and empty are no gates; unset they are the default.
func TestConfigPolicies(t *testing.T) {
	if c, err := readConfig([]string{"HECATE_TASK_APPROVAL_POLICIES="}); err != nil || len(c.Policies) != 0 {
		t.Errorf("empty: %v, %v", c.Policies, err)
	}
	if c, err := readConfig([]string{"HECATE_TASK_APPROVAL_POLICIES=all_tools"}); err != nil || len(c.Policies) != 1 {
		t.Errorf("one: %v, %v", c.Policies, err)
	}
}

// Whatever is wrong is named, all of it in one message.
func TestConfigProblems(t *testing.T) {
	_, err := readConfig([]string{
		"HECATE_TASK_QUEUE_WORKERS=0", "HECATE_TASK_APPROVAL_POLICIES=shell_exec,nonsense", "HECATE_RUNTIME_TOKEN=short", "HECATE_BACKEND=paper",
		"HECATE_ALLOWED_ORIGINS=https://a.example/path", "HECATE_CONTROL_PLANE_SECRET_KEY=%%%",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"HECATE_TASK_QUEUE_WORKERS", "nonsense", "HECATE_RUNTIME_TOKEN", "HECATE_BACKEND", "HECATE_ALLOWED_ORIGINS", "HECATE_CONTROL_PLANE_SECRET_KEY",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for _, bad := range []string{"HECATE_TASK_QUEUE_WORKERS=many", "HECATE_SQLITE_BUSY_TIMEOUT=5", "HECATE_ALLOW_NON_LOOPBACK_BIND=maybe"} {
		if _, err := readConfig([]string{bad}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestWhoMayReachTheServer(t *testing.T) {
	const token = "HECATE_RUNTIME_TOKEN=0123456789abcdefghijklmn"
	for _, c := range []struct {
		settings []string
		ok       bool
	}{
		{[]string{"HECATE_ADDRESS=localhost:1"}, true},
		{[]string{"HECATE_ADDRESS=[::1]:1"}, true},
		{[]string{"HECATE_ADDRESS=0.0.0.0:1"}, false},
		{[]string{"HECATE_ADDRESS=:1", token}, false},
		{[]string{"HECATE_ADDRESS=0.0.0.0:1", "HECATE_ALLOW_NON_LOOPBACK_BIND=1"}, false},
		{[]string{"HECATE_ADDRESS=0.0.0.0:1", "HECATE_ALLOW_NON_LOOPBACK_BIND=1", token}, true},
		{[]string{"HECATE_ADDRESS=nonsense"}, false},
	} {
		if _, err := readConfig(c.settings); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.settings, err)
		}
	}
}

// Half a route for progress checks would silently be another one.
func TestConfigOfProgressChecks(t *testing.T) {
	const provider, name = "HECATE_TASK_PROGRESS_CHECK_PROVIDER=fast", "HECATE_TASK_PROGRESS_CHECK_MODEL=small"
	for _, good := range [][]string{nil, {provider, name, "HECATE_TASK_PROGRESS_CHECK_TIMEOUT=3s"}} {
		if c, err := readConfig(good); err != nil || c.CheckTimeout <= 0 || len(good) > 0 && c.CheckModel != "small" {
			t.Errorf("%v: %v, %+v", good, err, c)
		}
	}
	for _, bad := range []string{provider, name, "HECATE_TASK_PROGRESS_CHECK_TIMEOUT=0s", "HECATE_TASK_PROGRESS_CHECK_TIMEOUT=soon"} {
		if _, err := readConfig([]string{bad}); err == nil || !strings.Contains(err.Error(), "HECATE_TASK_PROGRESS_CHECK_") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Nothing is removed unless the operator says so.
func TestConfigOfRetention(t *testing.T) {
	if c, err := readConfig(nil); err != nil || c.RetentionEnabled || c.WorkspacesChanged || c.RetentionInterval != 15*time.Minute || c.WorkspacesMaxAge != 7*24*time.Hour || c.WorkspacesMaxCount != 1000 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range [][]string{
		{"HECATE_RETENTION_ENABLED=1", "HECATE_RETENTION_INTERVAL=0s"}, {"HECATE_RETENTION_WORKSPACES_MAX_AGE=-1h"}, {"HECATE_RETENTION_WORKSPACES_MAX_COUNT=-1"},
	} {
		if _, err := readConfig(bad); err == nil || !strings.Contains(err.Error(), "HECATE_RETENTION_") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Each subsystem has its own settings, with the contract's defaults.
func TestConfigOfPolicies(t *testing.T) {
	c, err := readConfig([]string{"HECATE_RETENTION_MODEL_CALL_EVENTS_MAX_AGE=36h", "HECATE_RETENTION_MODEL_CALL_EVENTS_MAX_COUNT=0", "HECATE_RETENTION_RUN_CONTENTS_MAX_COUNT=7"})
	want := []retain.Policy{
		{Name: "trace_snapshots", MaxAge: 24 * time.Hour, MaxCount: 2000},
		{Name: "usage_events", MaxAge: 720 * time.Hour, MaxCount: 200},
		{Name: "audit_events", MaxAge: 720 * time.Hour, MaxCount: 500},
		{Name: "provider_history", MaxAge: 168 * time.Hour, MaxCount: 10_000},
		{Name: "model_call_events", MaxAge: 36 * time.Hour},
		{Name: "chat_approvals", MaxAge: 720 * time.Hour, MaxCount: 10_000},
		{Name: "run_contents", MaxCount: 7},
	}
	if err != nil || !slices.Equal(c.Retention, want) {
		t.Errorf("%+v, %v", c.Retention, err)
	}
	if c, err := readConfig(nil); err != nil || c.Retention[4] != (retain.Policy{Name: "model_call_events", MaxAge: 168 * time.Hour, MaxCount: 100_000}) || c.Retention[6] != (retain.Policy{Name: "run_contents"}) {
		t.Errorf("%+v, %v", c.Retention, err)
	}
	for _, bad := range []string{"MODEL_CALL_EVENTS_MAX_AGE=30", "TRACES_MAX_AGE=-1h", "USAGE_EVENTS_MAX_COUNT=-1", "AUDIT_EVENTS_MAX_COUNT=1e3", "CHAT_APPROVALS_MAX_AGE=NaN", "RUN_CONTENTS_MAX_COUNT=9223372036854775808"} {
		name, _, _ := strings.Cut(bad, "=")
		if _, err := readConfig([]string{"HECATE_RETENTION_" + bad}); err == nil || !strings.Contains(err.Error(), "HECATE_RETENTION_"+name) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestConfigOfFetches(t *testing.T) {
	c, err := readConfig([]string{"HECATE_TASK_HTTP_ALLOWED_HOSTS=docs.rs, Internal.example:8443,,", "HECATE_TASK_HTTP_TIMEOUT=2s", "HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=1"})
	if err != nil || len(c.HTTPAllowedHosts) != 2 || c.HTTPTimeout != 2*time.Second || c.HTTPMaxBytes != 262144 || !c.HTTPAllowPrivateIPs {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{
		"HECATE_TASK_HTTP_ALLOWED_HOSTS=https://docs.rs", "HECATE_TASK_HTTP_ALLOWED_HOSTS=*.rs", "HECATE_TASK_HTTP_TIMEOUT=30",
		"HECATE_TASK_HTTP_TIMEOUT=-1s", "HECATE_TASK_HTTP_MAX_RESPONSE_BYTES=-1", "HECATE_TASK_HTTP_MAX_RESPONSE_BYTES=many",
	} {
		if _, err := readConfig([]string{bad}); err == nil || !strings.Contains(err.Error(), strings.SplitN(bad, "=", 2)[0]) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
