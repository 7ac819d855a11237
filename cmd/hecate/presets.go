package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// presetsCommand is "hecate presets".
type presetsCommand struct {
	List presetsList `cmd:"" default:"withargs" help:"List the work policies."`
	Show presetsShow `cmd:"" help:"Show a work policy in full."`
}

// presetsList is "hecate presets list", which "hecate presets" means.
type presetsList struct {
	serverFlags
	JSON bool `name:"json" help:"Print the server's JSON."`
}

// Help is the long help of the command.
func (presetsList) Help() string {
	return `A work policy says what an agent may do under a name, with which instructions and on which route. A task that is
made from one keeps what it said then.`
}

// Run does the command.
func (c presetsList) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	if c.JSON {
		return printJSON(ctx, a, server, client.PresetsPath)
	}
	list, err := server.Presets(ctx)
	if err != nil {
		return fmt.Errorf("list work policies: %w", err)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tFOR\tALLOWS\tAPPROVAL\tWHOSE\tNAME")
	for _, p := range list {
		whose := "yours"
		if p.BuiltIn {
			whose = "built in"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Line(p.ID), terminal.Line(p.Surface), allows(p),
			terminal.Line(p.ApprovalPolicy), whose, terminal.Cut(terminal.Line(p.Name), 50))
	}
	return w.Flush()
}

// presetsShow is "hecate presets show".
type presetsShow struct {
	serverFlags
	Policy string `arg:"" help:"The policy's id."`
	JSON   bool   `name:"json" help:"Print the server's JSON."`
}

// Run does the command.
func (c presetsShow) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	p, err := server.Preset(ctx, c.Policy)
	if err != nil {
		return notFound(err, "work policy "+c.Policy, "hecate presets")
	}
	if c.JSON {
		return printJSON(ctx, a, server, client.PresetPath(c.Policy))
	}
	return showPreset(a, p)
}

func showPreset(a *app, p client.Preset) error {
	whose := "yours"
	if p.BuiltIn {
		whose = "built in"
	}
	fmt.Fprintf(a.out, "%s  %s\n", a.outStyle.Bold(terminal.Line(p.Name)), whose)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"policy", p.ID},
		{"about", p.Description},
		{"for", p.Surface},
		{"allows", allows(p)},
		{"origins", strings.Join(p.BrowserOrigins, ", ")},
		{"approval", p.ApprovalPolicy},
		{"profile", p.ExecutionProfile},
		{"model", strings.Trim(p.ProviderHint+"/"+p.ModelHint, "/")},
		{"memory", p.ProjectMemoryPolicy},
		{"context", p.ContextSourcePolicy},
		{"skills", strings.Join(p.SkillIDs, ", ")},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "  %s\t%s\n", row[0], terminal.Line(row[1]))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.Instructions != "" {
		for _, line := range terminal.Wrap(terminal.Text(p.Instructions), show.TextColumns(a.outStyle)-2) {
			fmt.Fprintf(a.out, "  %s\n", line)
		}
	}
	return nil
}

// allows sums up what may be done under the policy.
func allows(p client.Preset) string {
	var out []string
	for _, x := range []struct {
		word string
		yes  bool
	}{
		{"tools", p.ToolsEnabled},
		{"writes", p.WritesAllowed},
		{"network", p.NetworkAllowed},
		{"browser", p.BrowserAllowed},
		{"browser actions", p.BrowserInteractions},
	} {
		if x.yes {
			out = append(out, x.word)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
