package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// providersCommand is "hecate providers".
type providersCommand struct {
	serverFlags
	Refresh bool `help:"Ask the providers for their models first; takes up to two seconds."`
	JSON    bool `name:"json" help:"Print the server's JSON."`
}

// Help is the long help of the command.
func (providersCommand) Help() string {
	return `How each model provider stands, in the order in which they are tried, and what to do about one that
cannot be used. Without a running server it looks at those that this environment configures.

How well a provider keeps to its protocol: hecate provider check NAME`
}

// Run does the command.
func (c providersCommand) Run(a *app) error {
	ctx := context.Background()
	server, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if server == nil {
		return c.ofEnvironment(ctx, a)
	}
	if c.JSON {
		return printJSON(ctx, a, server, client.ProvidersPath(c.Refresh))
	}
	list, err := server.Providers(ctx, c.Refresh)
	if err != nil {
		return fmt.Errorf("list providers: %w", err)
	}
	return showProviders(a, list)
}

// ofEnvironment lists the providers that a server started here would have.
func (c providersCommand) ofEnvironment(ctx context.Context, a *app) error {
	settings, err := readProviders(a.environ)
	if err != nil {
		return err
	}
	settings.set.Discover(ctx, c.Refresh)
	status := settings.set.Status()
	if c.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(status)
	}
	fmt.Fprintln(a.err, "no server is running; these are the providers that this environment configures")
	return showProviders(a, recast[client.Provider](nil, status))
}

func showProviders(a *app, list []client.Provider) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.out, "no model provider is configured\n"+providerHelp)
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tKIND\tHEALTH\tREADY\tMODELS\tDEFAULT MODEL\tADDRESS")
	for _, p := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", terminal.Line(p.Name), terminal.Line(p.Kind), terminal.Line(p.Status), ready(p),
			len(p.Models), terminal.Line(p.DefaultModel), terminal.Line(p.BaseURL))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range list {
		if p.Readiness.Status == "ok" {
			continue
		}
		fmt.Fprintf(a.out, "\n%s %s\n", a.outStyle.Yellow("!"), terminal.Line(p.Name+": "+p.Readiness.Message))
		for _, line := range []string{p.Readiness.OperatorAction, lastError(p), openUntil(p)} {
			if line != "" {
				fmt.Fprintf(a.out, "  %s\n", terminal.Line(line))
			}
		}
	}
	return nil
}

// ready says which tasks can be routed to the provider.
func ready(p client.Provider) string {
	switch {
	case p.AutoRouteReady:
		return "yes"
	case p.RoutingReady:
		return "if named"
	}
	return "no"
}

func lastError(p client.Provider) string {
	if p.LastError == "" {
		return ""
	}
	return "last error: " + p.LastError
}

func openUntil(p client.Provider) string {
	if p.OpenUntil.IsZero() {
		return ""
	}
	return "left alone until " + p.OpenUntil.Local().Format(time.TimeOnly)
}
