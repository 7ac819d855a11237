package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// projectionsCommand is "hecate projections".
type projectionsCommand struct {
	Status  projectionsStatus  `cmd:"" help:"How far each read model has read the log."`
	Rebuild projectionsRebuild `cmd:"" help:"Fold read models from the log anew, beside the old ones, and switch."`
}

type projectionsStatus struct{ serverFlags }

// Run does the command.
func (c projectionsStatus) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	list, err := server.Projections(ctx)
	if err != nil {
		return fmt.Errorf("ask for the read models: %w", err)
	}
	return printProjections(a, list)
}

type projectionsRebuild struct {
	serverFlags
	Name string `arg:"" optional:"" help:"Only this read model."`
}

// Run does the command.
func (c projectionsRebuild) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	list, err := server.RebuildProjections(ctx, c.Name)
	if err != nil {
		return fmt.Errorf("rebuild the read models: %w", err)
	}
	return printProjections(a, list)
}

func printProjections(a *app, list []client.Projection) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPOSITION\tHEAD\tLAG\tPARKED\tSTATE")
	for _, p := range list {
		state := "ready"
		switch {
		case p.Rebuilding:
			state = "rebuilding"
		case p.Parked > 0:
			state = "some streams are set aside"
		case p.Trouble != "":
			state = p.Trouble
		case p.Lag > 0:
			state = "catching up"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", terminal.Line(p.Name), p.Position, p.Head, p.Lag, p.Parked, terminal.Line(state))
	}
	return w.Flush()
}
