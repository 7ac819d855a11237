package show

import (
	"slices"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// Doubt is a call whose outcome nobody knows: its effect may have happened.
type Doubt struct {
	StepID string
	Call   string // on one line
}

// Doubts gathers the calls of one run whose outcome nobody knows, from its events.
// The zero value is ready.
type Doubts struct {
	commands map[string]string // of shell calls, by tool call id
	settled  []toolCall
	open     []toolCall // dispatched, and not settled so far
	ended    bool
}

// Add looks at one event.
func (d *Doubts) Add(e client.Event) {
	switch e.Type {
	case "tool.shell.command":
		c := decode[toolCall](e)
		if d.commands == nil {
			d.commands = map[string]string{}
		}
		d.commands[c.ID] = terminal.Cut(terminal.Line(firstLine(c.Command.String())), aboutColumns)
	case "tool.dispatch.intended":
		d.open = append(d.open, decode[toolCall](e))
	case "tool.dispatch.settled":
		c := decode[toolCall](e)
		d.open = without(d.open, c.StepID)
		if c.Outcome == client.StateUnknown {
			d.settled = append(d.settled, c)
		}
	case "tool.outcome.stated":
		step := decode[toolCall](e).StepID
		d.open, d.settled = without(d.open, step), without(d.settled, step)
	case "run.finished", "run.failed", "run.cancelled":
		d.ended = true
	}
}

func without(list []toolCall, step string) []toolCall {
	return slices.DeleteFunc(list, func(c toolCall) bool { return c.StepID == step })
}

// Unknown lists the calls that were settled as unknown and that nobody has looked
// into; b has what the run's model asked for.
func (d *Doubts) Unknown(b *Bundles, runID string) []Doubt { return d.list(d.settled, b, runID) }

// All lists the calls that the end of the run left open, too. Right after a run was
// cancelled, what came of them may still arrive.
func (d *Doubts) All(b *Bundles, runID string) []Doubt {
	out := d.Unknown(b, runID)
	if d.ended {
		out = append(out, d.list(d.open, b, runID)...)
	}
	return out
}

func (d *Doubts) list(calls []toolCall, b *Bundles, runID string) []Doubt {
	var out []Doubt
	for _, c := range calls {
		text := terminal.Line(c.Name)
		if proposed, ok := b.Call(runID, c.Index, c.ID); ok {
			text = proposed.Summary()
		} else if command := d.commands[c.ID]; command != "" {
			text += " " + command
		}
		out = append(out, Doubt{c.StepID, text})
	}
	return out
}
