package provider

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// retryWaitMax bounds HECATE_PROVIDER_RETRY_WAIT_MAX: a worker that waits does nothing else.
const retryWaitMax = time.Hour

// ParseRetry reads HECATE_PROVIDER_MAX_ATTEMPTS (2), HECATE_PROVIDER_RETRY_BACKOFF
// (200ms) and HECATE_PROVIDER_RETRY_WAIT_MAX (60s) from environment entries of the
// form NAME=value. All problems come back in one error.
func ParseRetry(environ []string) (Retry, error) {
	e := newEnvironment(environ)
	r := Retry{
		Attempts: e.integer("HECATE_PROVIDER_MAX_ATTEMPTS", 2, 1),
		Backoff:  e.duration("HECATE_PROVIDER_RETRY_BACKOFF", 200*time.Millisecond, 0),
		WaitMax:  e.duration("HECATE_PROVIDER_RETRY_WAIT_MAX", time.Minute, 0),
	}
	if r.WaitMax > retryWaitMax {
		e.refuse("HECATE_PROVIDER_RETRY_WAIT_MAX: %s is more than %s", r.WaitMax, retryWaitMax)
	}
	return r, e.err("configure retries")
}

// ParseOptions reads the settings that are common to all providers from
// environment entries of the form NAME=value:
//
//	HECATE_PROVIDER_FAILOVER_ENABLED                   true
//	HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD           3
//	HECATE_PROVIDER_HEALTH_COOLDOWN                    30s
//	HECATE_PROVIDER_HEALTH_LATENCY_DEGRADED_THRESHOLD  0 (off)
//	HECATE_PROVIDER_HISTORY_LIMIT                      100
//	HECATE_PROVIDER_ANTHROPIC_CACHE_ENABLED            true
//
// All problems come back in one error.
func ParseOptions(environ []string) (Options, error) {
	e := newEnvironment(environ)
	o := Options{
		NoFailover: !e.boolean("HECATE_PROVIDER_FAILOVER_ENABLED", true),
		Health: Health{
			Threshold: e.integer("HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD", thresholdDefault, 1),
			Cooldown:  e.duration("HECATE_PROVIDER_HEALTH_COOLDOWN", cooldownDefault, 1),
			SlowAfter: e.duration("HECATE_PROVIDER_HEALTH_LATENCY_DEGRADED_THRESHOLD", 0, 0),
		},
		HistoryLimit:          e.integer("HECATE_PROVIDER_HISTORY_LIMIT", historyLimitDefault, 1),
		DisableAnthropicCache: !e.boolean("HECATE_PROVIDER_ANTHROPIC_CACHE_ENABLED", true),
	}
	return o, e.err("configure providers")
}

// environment reads typed values and collects what is wrong with them.
type environment struct {
	values   map[string]string
	problems []error
}

func newEnvironment(environ []string) *environment {
	e := &environment{values: map[string]string{}}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e.values[name] = strings.TrimSpace(value)
		}
	}
	return e
}

func (e *environment) refuse(format string, args ...any) {
	e.problems = append(e.problems, fmt.Errorf(format, args...))
}

func (e *environment) err(doing string) error {
	if err := errors.Join(e.problems...); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (e *environment) boolean(name string, unset bool) bool {
	text := e.values[name]
	if text == "" {
		return unset
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		e.refuse("%s: %q is not a boolean, use true or false", name, text)
	}
	return v
}

func (e *environment) integer(name string, unset, least int) int {
	text := e.values[name]
	if text == "" {
		return unset
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least {
		e.refuse("%s: %q must be a whole number, %d or more", name, text, least)
	}
	return v
}

func (e *environment) duration(name string, unset, least time.Duration) time.Duration {
	text := e.values[name]
	if text == "" {
		return unset
	}
	v, err := time.ParseDuration(text)
	switch {
	case err != nil:
		e.refuse("%s: %q is not a duration, write it like 200ms, 30s or 5m", name, text)
	case v < least && least > 0:
		e.refuse("%s: %q must be more than 0", name, text)
	case v < 0:
		e.refuse("%s: %q is negative", name, text)
	}
	return v
}
