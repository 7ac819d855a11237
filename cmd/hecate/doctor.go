package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"strings"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// doctorCommand is "hecate doctor".
type doctorCommand struct {
	JSON bool `name:"json" help:"Print the findings as JSON."`
}

// Help is the long help of the command.
func (doctorCommand) Help() string {
	return `It looks at this machine as "hecate serve" would with the same environment, and changes nothing: ✓ as it
should be; – worth knowing; ! something is not enforced or will not work, and Hecate runs all the same;
✗ what the configuration needs is missing.

Exit codes: 0 nothing is missing; 1 something is.`
}

// health is how a finding is to be taken.
type health string

const (
	healthy health = "ok"
	noted   health = "note"
	wanting health = "warning"
	failing health = "missing"
)

// finding is one thing that was looked at.
type finding struct {
	Name   string `json:"name"`
	Health health `json:"status"`
	Text   string `json:"text"`
}

// findings gathers what is found.
type findings struct {
	OK   bool      `json:"ok"` // nothing is missing
	List []finding `json:"checks"`
}

func (f *findings) add(name string, h health, format string, args ...any) {
	f.OK = f.OK && h != failing
	f.List = append(f.List, finding{name, h, fmt.Sprintf(format, args...)})
}

// Run does the command.
func (c doctorCommand) Run(a *app) error {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	f := examine(ctx, a)
	if ctx.Err() != nil {
		return exit(exitInterrupted)
	}
	if c.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("print the findings: %w", err)
		}
	} else {
		f.print(a)
	}
	if !f.OK {
		return exit(exitFailed)
	}
	return nil
}

// examine looks at everything. What it cannot read of the configuration it says, and looks
// at the rest as if that were not set.
func examine(ctx context.Context, a *app) findings {
	f := findings{OK: true}
	c, err := readConfig(a.environ)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			f.add("configuration", failing, "%s", line)
		}
	}
	f.confinement(c)
	f.machine(ctx)
	f.data(ctx, c)
	f.audit(ctx, a, c)
	f.outbound(ctx, a, c)
	f.models(a)
	return f
}

const findingColumns = 14

func (f findings) print(a *app) {
	st := a.outStyle
	marks := map[health]string{healthy: st.Green("✓"), noted: st.Dim("–"), wanting: st.Yellow("!"), failing: st.Red("✗")}
	indent := strings.Repeat(" ", findingColumns+2)
	for _, x := range f.List {
		lines := terminal.Wrap(terminal.Line(x.Text), show.TextColumns(st)-len(indent))
		fmt.Fprintf(a.out, "%s %-*s%s\n", marks[x.Health], findingColumns, x.Name, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintln(a.out, indent+line)
		}
	}
}
