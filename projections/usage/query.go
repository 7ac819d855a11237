package usage

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"hecate/domain/run"
	"hecate/projections"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// The scopes of a summary.
const (
	ScopeGlobal   = "global"
	ScopeProvider = "provider"
	scopeCustom   = "custom"
)

// keyProvider begins the key of a provider's account.
const keyProvider = ScopeGlobal + ":provider:"

// Views answers queries about usage.
type Views struct {
	runner  *runner.Runner
	backend string
}

// NewViews returns the queries over what the runner keeps. Backend is what a summary
// calls the place where that is.
func NewViews(r *runner.Runner, backend string) *Views { return &Views{runner: r, backend: backend} }

// Summary returns one account: that of the key if there is one, else that of the
// scope. A scope that is not provider, or that lacks the provider's name, is global.
// A key that names no account has used nothing.
func (v *Views) Summary(ctx context.Context, scope, provider, key string) (projections.UsageSummary, error) {
	s := projections.UsageSummary{Key: ScopeGlobal, Scope: ScopeGlobal, Backend: v.backend}
	switch {
	case key != "":
		s.Key, s.Scope = key, scopeCustom
		if name, ok := strings.CutPrefix(key, keyProvider); ok {
			s.Provider = name
		}
	case scope == ScopeProvider && provider != "":
		s.Key, s.Scope, s.Provider = keyProvider+provider, ScopeProvider, provider
	}
	var sums map[string]*sum
	err := v.runner.View(ctx, Name, func(tx *readdb.Tx) (err error) {
		sums, err = readSums(ctx, tx)
		return err
	})
	var pico int64
	for of, one := range sums {
		if s.Key == ScopeGlobal || s.Key == keyProvider+of {
			pico += one.picoUSD
			s.UnknownCostCalls += one.unknown
		}
	}
	s.UsedMicroUSD, s.CostKnown = run.MicroUSD(pico), s.UnknownCostCalls == 0
	s.UsedUSD = usd(s.UsedMicroUSD)
	return s, err
}

func readSums(ctx context.Context, tx *readdb.Tx) (map[string]*sum, error) {
	out := map[string]*sum{}
	err := tx.Query(ctx, `SELECT provider, pico_usd, unknown FROM hecate_view_usage_sums_@`, func(rows *sql.Rows) error {
		var provider string
		s := &sum{}
		err := rows.Scan(&provider, &s.picoUSD, &s.unknown)
		out[provider] = s
		return err
	})
	return out, err
}

// usd writes micro-USD as US dollars with six decimals.
func usd(micro int64) string { return fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000) }

// Events returns the newest calls, at most limit, newest first. The answer is never nil.
func (v *Views) Events(ctx context.Context, limit int) ([]projections.UsageEvent, error) {
	var out []projections.UsageEvent
	err := v.runner.View(ctx, Name, func(tx *readdb.Tx) error {
		out = []projections.UsageEvent{}
		return tx.Query(ctx, `SELECT e.at, e.run_id, r.task_id, r.request_id, e.provider, e.model, e.detail, e.input, e.output, e.pico_usd, e.known
			FROM hecate_view_usage_events_@ e JOIN hecate_view_usage_runs_@ r ON r.run_id = e.run_id
			ORDER BY e.position DESC LIMIT $1`, func(rows *sql.Rows) error {
			e, err := scanEvent(rows)
			out = append(out, e)
			return err
		}, limit)
	})
	return out, err
}

func scanEvent(rows *sql.Rows) (projections.UsageEvent, error) {
	e := projections.UsageEvent{Type: "usage", Scope: ScopeGlobal}
	var at, pico, known int64
	err := rows.Scan(&at, &e.RunID, &e.TaskID, &e.RequestID, &e.Provider, &e.Model, &e.Detail, &e.PromptTokens, &e.CompletionTokens, &pico, &known)
	e.Timestamp = projections.FormatTime(time.UnixMicro(at))
	e.AmountMicroUSD, e.CostKnown = run.MicroUSD(pico), known == 1
	e.AmountUSD = usd(e.AmountMicroUSD)
	e.TotalTokens = e.PromptTokens + e.CompletionTokens
	return e, err
}
