package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// usageCommand is "hecate usage".
type usageCommand struct {
	serverFlags
	Provider string `help:"Only calls of this provider."`
	Events   bool   `help:"List the latest calls instead of their sum."`
	Limit    int    `default:"20" help:"List at most this many calls, newest first; 1000 is the most."`
	JSON     bool   `name:"json" help:"Print the server's JSON."`
}

// Help is the long help of the command.
func (usageCommand) Help() string {
	return `What the model calls of all runs have cost, also those of deleted tasks. A call whose cost nobody knows is
counted, and not taken for free: prices are set with HECATE_MODEL_PRICES.`
}

// Run does the command.
func (c usageCommand) Run(a *app) error {
	ctx := context.Background()
	switch {
	case c.Limit < 1 || c.Limit > client.UsageEventsMax:
		return usage(fmt.Errorf("--limit must be between 1 and %d", client.UsageEventsMax))
	case c.JSON && c.Events && c.Provider != "":
		return usage(errors.New("--json --events prints the calls of all providers: leave --provider out"))
	}
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case c.JSON && c.Events:
		return printJSON(ctx, a, server, "/usage/events?limit="+strconv.Itoa(c.Limit))
	case c.JSON:
		return printJSON(ctx, a, server, client.UsageSummaryPath(c.Provider))
	case c.Events:
		return c.list(ctx, a, server)
	}
	sum, err := server.UsageSummary(ctx, c.Provider)
	if err != nil {
		return fmt.Errorf("sum up the usage: %w", err)
	}
	whose := "by all providers"
	if c.Provider != "" {
		whose = "by " + terminal.Line(c.Provider)
	}
	fmt.Fprintf(a.out, "%s %s\n", a.outStyle.Bold(show.Cost(sum.UsedMicroUSD, true)), whose)
	if !sum.CostKnown {
		fmt.Fprintf(a.out, "%s the cost of %s is not known; the true sum is higher\n", a.outStyle.Yellow("!"), show.Count(sum.UnknownCalls, "call"))
	}
	return nil
}

// list prints the latest calls. The server lists those of all providers.
func (c usageCommand) list(ctx context.Context, a *app, server *client.Client) error {
	limit := c.Limit
	if c.Provider != "" {
		limit = client.UsageEventsMax
	}
	events, err := server.UsageEvents(ctx, limit)
	if err != nil {
		return fmt.Errorf("list the usage: %w", err)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	n := 0
	for _, e := range events {
		if c.Provider != "" && !sameProvider(e.Provider, c.Provider) || n == c.Limit {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(w, "TIME\tPROVIDER\tMODEL\tTOKENS IN\tOUT\tCOST\tRUN")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", shortTime(e.Timestamp), terminal.Line(e.Provider), terminal.Line(e.Model),
			e.PromptTokens, e.CompletionTokens, eventCost(e), terminal.Line(e.RunID))
	}
	if n == 0 {
		_, err := fmt.Fprintln(a.out, "no model call was paid for yet")
		return err
	}
	return w.Flush()
}

// eventCost is the cost of one call, and why it is not known.
func eventCost(e client.UsageEvent) string {
	text := show.Cost(e.AmountMicroUSD, e.CostKnown)
	switch e.Detail {
	case "abandoned":
		return text + " (its worker vanished)"
	case "failed":
		return text + " (the answer broke off)"
	}
	return text
}
