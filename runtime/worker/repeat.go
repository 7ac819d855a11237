package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cespare/xxhash/v2"

	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/runtime/assess"
	"hecate/runtime/model"
	"hecate/tools"
	"hecate/tools/gitrepo"
)

// pendingRepeat is how the repetition guard knows a call that has not been made: by what
// it says, not by how that is spelled. A look at a process that runs is the same however
// long it would wait, and however much it would show.
func (a *attempt) pendingRepeat(c run.ToolCall) run.Repeat {
	if id := a.polled(c); id != "" {
		return run.Repeat{Kind: repetition.Poll, Call: digest(string(repetition.Poll), id)}
	}
	return run.Repeat{Kind: repetition.KindOf(c.Name, false), Call: digest(c.Name, canonical(c.Arguments.String()))}
}

// canonical spells arguments in the one way that all texts with the same members share;
// what is no JSON stays as it is.
func canonical(arguments string) string {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return arguments
	}
	out, err := json.Marshal(v)
	if err != nil {
		return arguments
	}
	return string(out)
}

// repeated is how a call that has an outcome looks to the repetition guard; nil where
// it does not watch.
func (a *attempt) repeated(c run.ToolCall, result string) *run.Repeat {
	if !a.watched {
		return nil
	}
	r := a.pendingRepeat(c)
	r.Result = digest(result)
	if r.Kind == repetition.Command {
		r.Content = a.changedContent()
	}
	return &r
}

// digest names texts by content.
func digest(texts ...string) string {
	h := xxhash.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:", len(t))
		_, _ = h.WriteString(t) // never fails
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Bounds of what is read to tell one state of the workspace from another.
const (
	changedFilesMax = 512
	changedFileMax  = 1 << 20 // bytes of one file
)

// changedContent names the content of what differs from the last commit in a workspace
// that is a git repository; "" elsewhere.
func (a *attempt) changedContent() string {
	if a.root == nil || !gitrepo.Inside(a.s.WorkspacePath) {
		return ""
	}
	changes, err := gitrepo.Changes(context.Background(), a.s.WorkspacePath)
	if err != nil {
		return ""
	}
	h := xxhash.New()
	for i, f := range changes.Files {
		if i == changedFilesMax {
			break
		}
		fmt.Fprintf(h, "%q %s ", f.Path, f.Status)
		hashFile(h, a.root, f.Path)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

func hashFile(h *xxhash.Digest, root *os.Root, path string) {
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := root.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprint(h, info.Size())
	_, _ = io.Copy(h, io.LimitReader(f, changedFileMax)) // what cannot be read looks the same each time
}

// checkTokens is the most that a check sends, in tokens, guessed high.
const checkTokens = 16 << 10

// affordCheck is the most that a check may cost where calls are reserved for, and why it
// may not be made; "" if it may.
func (a *attempt) affordCheck(route model.Route) (pico int64, why string) {
	if !a.Reserve || a.s.BudgetMicroUSD == 0 {
		return 0, ""
	}
	known := false
	if a.Prices != nil {
		pico, known = a.Prices.Estimate(route, checkTokens, assess.OutputTokensMax)
	}
	switch {
	case !known:
		return 0, "the price of the model for the check is not known, and the task's ceiling is to be held for every call"
	case a.s.Reserve(pico) != nil:
		return 0, "the check could cost more than is left of the task's ceiling"
	}
	return pico, ""
}

// check asks a fast model about a call that repeats itself. The check is an event of
// its own, with its own bill, and no part of the conversation.
func (a *attempt) check(ctx context.Context, e run.Check) error {
	done := run.ProgressCheckCompleted{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, Assessment: repetition.Unavailable}
	if a.Assessor == nil {
		done.Problem = "no model is configured for the check"
		a.stage(done)
		return nil
	}
	route, err := a.Assessor.Route(ctx, a.s.Route)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		done.Problem = bound(err.Error())
		a.stage(done)
		return nil
	}
	reserved, why := a.affordCheck(route)
	if why != "" {
		done.Problem = why
		a.stage(done)
		return nil
	}
	a.stage(run.ProgressCheckStarted{
		ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, Trigger: e.Finding.Trigger, Count: e.Finding.Count,
		Provider: route.Provider, Model: route.Model, ReservedPicoUSD: reserved,
	})
	if err := a.flush(ctx); err != nil {
		return err
	}
	if !a.t.lease.Valid() {
		return tools.ErrLeaseLost
	}
	asking, stop := a.untilTold(ctx)
	defer stop()
	r := a.Assessor.Assess(asking, route, e.Finding)
	if asking.Err() != nil && r.Usage == nil {
		return errors.Join(ctx.Err()) // the check stays open in the log, and is given up by whoever goes on
	}
	done.Assessment, done.Observations, done.Problem, done.Asked = r.Assessment, r.Observations, bound(r.Problem), r.Asked
	done.Route = run.Route{Provider: route.Provider, ProviderKind: route.Kind, Model: route.Model}
	done.Usage, done.CostPicoUSD, done.CostKnown = a.bill(route, r.Usage)
	a.stage(done)
	return ctx.Err()
}
