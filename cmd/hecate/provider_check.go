package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/runtime/model"
	modelcheck "hecate/runtime/model/check"
	"hecate/runtime/model/provider"
)

// providerCommand is "hecate provider".
type providerCommand struct {
	Check providerCheck `cmd:"" help:"Find out how well a provider keeps to its protocol."`
}

// providerCheck is "hecate provider check".
type providerCheck struct {
	Name  string `arg:"" help:"The provider, as the environment configures it, or a known one of this machine such as ollama."`
	Model string `short:"m" help:"Model to check with. Default: the provider's first."`
	JSON  bool   `name:"json" help:"Print the results as JSON lines."`
}

// Help is the long help of the command.
func (providerCheck) Help() string {
	return `It sends a handful of small requests to the provider and says of each how it went: ✓ as it should be;
! odd, or not to be found out, and Hecate works with it all the same; ✗ tasks will fail because of
it. No server is needed. With a cloud provider it costs a fraction of a cent.

Exit codes: 0 nothing failed; 1 something did; 130 interrupted.`
}

// Run does the command.
func (c providerCheck) Run(a *app) error {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	route, err := c.route(ctx, a)
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(a.out, "%s of %s\n", terminal.Line(route.Model), terminal.Line(route.Provider))
	}
	p := checkPrinter{a: a, out: terminal.NewScreen(a.out, a.outStyle), json: c.JSON}
	p.status()
	results := modelcheck.Run(ctx, route, p.print)
	p.out.Status("")
	switch {
	case ctx.Err() != nil:
		return exit(exitInterrupted)
	case p.err != nil:
		return p.err
	case !c.JSON:
		fmt.Fprintln(p.out, verdictOf(a.outStyle, results))
	}
	if modelcheck.Worst(results) == modelcheck.Fail {
		return exit(exitFailed)
	}
	return nil
}

// route finds the provider and a model of it.
func (c providerCheck) route(ctx context.Context, a *app) (model.Route, error) {
	settings, err := readProviders(slices.Concat(a.environ, c.known(a)))
	if err != nil {
		return model.Route{}, err
	}
	name, using := strings.ToLower(strings.TrimSpace(c.Name)), c.Model
	if using == "" {
		settings.set.Discover(ctx, true)
	}
	var names []string
	for _, s := range settings.set.Status() {
		names = append(names, s.Name)
		if !sameProvider(s.Name, name) || using != "" {
			continue
		}
		if using = s.DefaultModel; using == "" {
			why := advise(fmt.Errorf("no model of %s is known: %s", s.Name, s.Readiness.Message), "name one: hecate provider check "+s.Name+" --model MODEL")
			if s.LastError != "" {
				why = advise(fmt.Errorf("ask %s for its models: %s", s.Name, s.LastError), "Is it running? "+s.BaseURL)
			}
			return model.Route{}, why
		}
	}
	route, err := settings.set.Route(name, using)
	if err != nil {
		next := providerHelp
		if len(names) > 0 {
			next = "this environment configures: " + strings.Join(names, ", ")
		}
		return model.Route{}, advise(err, next)
	}
	return route, nil
}

// known are the settings of a provider of this machine that nobody configured, if
// that is what is named.
func (c providerCheck) known(a *app) []string {
	preset, ok := provider.PresetOf(c.Name)
	prefix := "PROVIDER_" + strings.ToUpper(preset.ID)
	if !ok || preset.Kind != provider.KindLocal || a.getenv(prefix+"_PRECONFIGURED") != "" {
		return nil
	}
	out := []string{prefix + "_PRECONFIGURED=true"}
	if a.getenv(prefix+"_BASE_URL") == "" {
		out = append(out, prefix+"_BASE_URL="+preset.BaseURL)
	}
	return out
}

// checkPrinter writes results as they come.
type checkPrinter struct {
	a    *app
	out  *terminal.Screen
	json bool
	done int
	err  error // of printing
}

// status says that it goes on.
func (p *checkPrinter) status() {
	if !p.json {
		p.out.Status(fmt.Sprintf("… check %d", p.done+1))
	}
}

const (
	nameColumns = 24
	tookMinMS   = 100 // less is not worth telling
)

func (p *checkPrinter) print(r modelcheck.Result) {
	p.done++
	if p.json {
		line, err := json.Marshal(r)
		_, printErr := fmt.Fprintf(p.a.out, "%s\n", line)
		p.err = errors.Join(p.err, err, printErr)
		return
	}
	st := p.a.outStyle
	took := ""
	if r.TookMS >= tookMinMS {
		took = show.Duration(time.Duration(r.TookMS) * time.Millisecond)
	}
	indent := strings.Repeat(" ", nameColumns+2)
	lines := terminal.Wrap(terminal.Line(r.Text), show.TextColumns(st)-len(indent)-len(took)-2)
	fmt.Fprintln(p.out, st.Row(checkMark(st, r.Status)+" "+fmt.Sprintf("%-*s", nameColumns, r.Name)+lines[0], took))
	for _, line := range lines[1:] {
		fmt.Fprintln(p.out, indent+line)
	}
	p.status()
}

func checkMark(st terminal.Style, s modelcheck.Status) string {
	switch s {
	case modelcheck.Pass:
		return st.Green("✓")
	case modelcheck.Quirk:
		return st.Yellow("!")
	}
	return st.Red("✗")
}

// verdictOf is the last line.
func verdictOf(st terminal.Style, results []modelcheck.Result) string {
	counts := map[modelcheck.Status]int{}
	for _, r := range results {
		counts[r.Status]++
	}
	text := fmt.Sprintf("%d passed, %d odd, %d failed", counts[modelcheck.Pass], counts[modelcheck.Quirk], counts[modelcheck.Fail])
	switch modelcheck.Worst(results) {
	case modelcheck.Pass:
		return st.Green(text + ": tasks can rely on it")
	case modelcheck.Quirk:
		return st.Yellow(text + ": tasks will work")
	}
	return st.Red(text + ": tasks will fail")
}
