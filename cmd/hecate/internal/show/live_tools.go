package show

import (
	"fmt"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
)

// How much of a command's output is shown: its beginning, and its end if more
// comes. All of it stands in the history and in the run's artifacts.
const (
	outputHeadLines = 20
	outputTailLines = 10
	commandLines    = 6 // of the command itself
)

// command is a shell command whose output is coming in.
type command struct {
	partial map[string]string // the unfinished line of each stream
	lines   int
	tail    []string // the latest lines past the head
}

func (l *Live) toolEvent(e client.Event) {
	d := decode[toolCall](e)
	switch e.Type {
	case "tool.dispatch.intended":
		l.flush()
		l.begins(d)
		l.wait(l.nameOf(d), e)
	case "tool.lock.waiting":
		l.flush()
		l.wait(d.lockWait(), e)
		if d.HeldBy != "" {
			l.lock = &LockWait{Name: d.Lock, Run: d.HeldBy, Step: d.HeldByStep}
		}
		l.note(l.nameOf(d) + " is " + d.lockWait())
	case "tool.shell.command":
		l.flush()
		l.beginCommand(d)
	case "tool.shell.output_chunk":
		l.output(d)
	case "tool.completed":
		l.endCommand(d.ID, l.style.Green("✓"), d.Summary, Duration(time.Duration(d.DurationMS)*time.Millisecond))
	case "tool.failed", "tool.cancelled", "tool.timed_out":
		l.endCommand(d.ID, l.style.Red("✗"), failure(e.Type, d), Duration(time.Duration(d.DurationMS)*time.Millisecond))
	case "tool.file.patch":
		l.flush()
		l.changed(d)
	case "policy.tool_blocked":
		l.flush()
		l.blocked(d)
	case "tool.dispatch.settled":
		l.wait("", e)
		l.settle(d)
	}
}

func failure(eventType string, d toolCall) string {
	switch {
	case eventType == "tool.timed_out":
		return "ran into its time limit and was ended"
	case eventType == "tool.cancelled":
		return "cancelled"
	case d.Summary != "":
		return d.Summary
	}
	return d.Error
}

func (l *Live) nameOf(d toolCall) string {
	if c, ok := l.calls[d.ID]; ok {
		return c.Summary()
	}
	if l.Direct != "" {
		return l.Direct
	}
	return terminal.Line(d.Name)
}

// begins shows a call of level 1 as it begins, unless what it does is shown anyway:
// changes of files are.
func (l *Live) begins(d toolCall) {
	if d.Ruling.Level == permission.Visible && !pattern.Edits(d.Name) {
		l.plain(l.style.Dim("→ " + l.nameOf(d)))
	}
}

func (l *Live) beginCommand(d toolCall) {
	l.shells[d.ID] = &command{partial: map[string]string{}}
	lines := strings.Split(strings.TrimRight(terminal.Text(d.Command.String()), "\n"), "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			l.plain(l.style.Bold("$ " + line))
		case i < commandLines:
			l.plain("  " + line)
		case i == commandLines:
			l.plain(l.style.Dim(fmt.Sprintf("  … %s more", Count(int64(len(lines)-i), "line"))))
		}
	}
}

func (l *Live) output(d toolCall) {
	c := l.shells[d.ID]
	if c == nil {
		return
	}
	lines := strings.Split(c.partial[d.Stream]+d.Data.String(), "\n")
	c.partial[d.Stream] = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		l.outputLine(c, line)
	}
}

// outputLine writes a line of the head, and keeps the latest ones after that.
func (l *Live) outputLine(c *command, line string) {
	c.lines++
	if c.lines <= outputHeadLines {
		l.bar(line)
		return
	}
	c.tail = append(c.tail, line)
	if len(c.tail) > outputTailLines {
		c.tail = c.tail[1:]
	}
}

func (l *Live) bar(line string) {
	shown := strings.ReplaceAll(terminal.Output(strings.TrimRight(line, "\r")), "\t", "    ")
	if l.style.Columns > 0 {
		shown = terminal.Cut(shown, l.style.Columns-4)
	}
	l.plain(l.style.Dim("│ " + shown))
}

// endCommand writes what is left of the output and how the command ended. An
// empty mark says that nobody knows.
func (l *Live) endCommand(id, mark, summary, detail string) {
	c := l.shells[id]
	if c == nil {
		return
	}
	delete(l.shells, id)
	for _, stream := range []string{"stdout", "stderr"} {
		if c.partial[stream] != "" {
			l.outputLine(c, c.partial[stream])
		}
	}
	if hidden := c.lines - outputHeadLines - len(c.tail); hidden > 0 {
		l.plain(l.style.Dim(fmt.Sprintf("│ … %s", Count(int64(hidden), "more line"))))
	}
	for _, line := range c.tail {
		l.bar(line)
	}
	if mark != "" {
		l.settled[id] = true
		l.inner(mark, terminal.Line(summary), detail)
	}
}

// verbs says what an operation did to a file.
var verbs = map[string]string{
	"write": "wrote", "append": "appended to", "propose": "proposed a change of",
	"add": "added", "update": "changed", "delete": "deleted",
}

func (l *Live) changed(d toolCall) {
	verb := verbs[d.Operation]
	if verb == "" || d.Name == "file_edit" && d.Operation == "write" {
		verb = "changed"
	}
	l.settled[d.ID] = true
	l.inner(l.style.Green("✓"), verb+" "+l.style.Bold(l.shortPath(d.Path)), terminal.Line(d.Name))
}

func (l *Live) blocked(d toolCall) {
	l.settled[d.ID] = true
	if d.Policy == policyUnattended {
		l.Refused = append(l.Refused, Refusal{l.nameOf(d), d.Gates})
	}
	text := "refused by policy: " + l.nameOf(d)
	if d.Reason != "" {
		text += ": " + terminal.Line(d.Reason)
	}
	l.inner(l.style.Red("✗"), text, terminal.Line(d.Policy))
}

// policyUnattended is the policy of a refusal where a person would have been asked.
const policyUnattended = "unattended"

func (l *Live) settle(d toolCall) {
	good := d.Outcome == "completed" || d.Outcome == ""
	if l.settled[d.ID] && (good || d.Outcome == "blocked" || d.Outcome == "failed") {
		return // its end is on the screen already
	}
	l.settled[d.ID] = true
	if good {
		l.inner(l.style.Green("✓"), l.nameOf(d), measure(d.Output, d.Input))
		return
	}
	text := l.nameOf(d) + ": " + terminal.Line(d.Outcome)
	if d.Outcome == client.StateUnknown {
		text = l.nameOf(d) + ": outcome unknown; it may have taken effect, and is not run again"
	} else if d.Error != "" {
		text += ": " + terminal.Line(firstLine(d.Error))
	}
	l.inner(l.style.Red("✗"), text, "")
}

// measures are the members of a tool's account that say how much it found, and their nouns.
var measures = []struct{ member, noun string }{
	{"bytes_read", "byte"},
	{"entry_count", "entry"},
	{"matches", "match"},
	{"file_count", "file"},
	{"result_count", "result"},
	{"bytes", "byte"},
	{"text_size", "byte"},
	{"output_bytes", "byte"},
}

func measure(places ...map[string]any) string {
	for _, m := range measures {
		for _, place := range places {
			if n, ok := place[m.member].(float64); ok {
				return Count(int64(n), m.noun)
			}
		}
	}
	return ""
}

func (l *Live) inner(mark, text, detail string) {
	l.line("  "+mark, text, detail)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
