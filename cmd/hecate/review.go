package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// reviewFlags say how much is shown before files are changed, and whether to ask.
type reviewFlags struct {
	Stat    bool `help:"List the files, and leave the diff out."`
	Yes     bool `short:"y" help:"Do not ask: do what is shown."`
	Preview bool `name:"dry-run" short:"n" help:"Show what would be done, and do nothing."`
	JSON    bool `name:"json" help:"Print the result as a JSON line. It asks nothing: add --yes or --dry-run."`
}

// review shows what would be done to files, asks, and has it done as it was shown.
type review struct {
	*app
	reviewFlags
	command     string // that was given, for hints
	question    string
	done        string        // what is said of files when it is done
	nothing     func() string // what to say if there is nothing to do
	conflicting string        // what can be done about conflicts; "" if they keep nothing from being done
	withheld    string        // what can be done about files that are left out
}

// through previews, asks and does.
func (r review) through(do func(digest string) (client.Landed, error)) error {
	if r.JSON && !r.Yes && !r.Preview {
		return usage(errors.New("--json asks nothing: add --yes to do what is to be done, or --dry-run to see it"))
	}
	l, err := do("")
	if err != nil {
		return err
	}
	if !r.JSON {
		r.show(l)
	}
	stuck := l.Conflicts > 0 && r.conflicting != ""
	switch {
	case r.changes(l) == 0 && !stuck:
		return r.conclude(l, false)
	case r.Preview:
		if stuck && !r.JSON {
			fmt.Fprintf(r.out, "%s conflicts in %s, so nothing would be done: %s\n", r.outStyle.Yellow("!"), show.Count(l.Conflicts, "file"), r.conflicting)
		}
		return r.conclude(l, false)
	case stuck:
		return advise(fmt.Errorf("conflicts in %s; nothing was done", show.Count(l.Conflicts, "file")), r.conflicting)
	case !r.Yes:
		if err := r.confirm(r.question, r.command+" --yes"); err != nil {
			return err
		}
	}
	if l, err = do(l.Digest); err != nil {
		return err
	}
	return r.conclude(l, true)
}

// waiting says why nothing is to be seen yet.
func (r review) waiting(o client.Operation) {
	fmt.Fprintf(r.err, "%s still at it (%s); this waits for the end\n", r.errStyle.Dim("·"), terminal.Line(o.ID))
}

// changes counts the files that would be, or were, touched. Of very many, those that are
// as they are to be already count if they are not listed.
func (r review) changes(l client.Landed) int64 {
	n := l.FilesCount - l.Withheld
	if r.conflicting != "" {
		n -= l.Conflicts
	}
	for _, f := range l.Files {
		if f.Outcome == "already" {
			n--
		}
	}
	return n
}

// conclude says what was done.
func (r review) conclude(l client.Landed, done bool) error {
	if r.JSON {
		line, err := json.Marshal(map[string]any{"object": "workspace_operation_result", "data": l, "done": done})
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		_, err = fmt.Fprintf(r.out, "%s\n", line)
		return err
	}
	n := r.changes(l)
	switch {
	case !done && n == 0:
		fmt.Fprintln(r.out, r.nothing())
	case done && l.Branch != "":
		fmt.Fprintf(r.out, "%s %s on the new branch %s (%.12s) of %s\n", r.outStyle.Green("✓"), show.Count(n, "file"), terminal.Line(l.Branch), l.Commit, terminal.Line(l.Target))
	case done:
		fmt.Fprintf(r.out, "%s %s %s in %s\n", r.outStyle.Green("✓"), show.Count(n, "file"), r.done, terminal.Line(l.Target))
	}
	if done && l.Conflicts > 0 {
		fmt.Fprintf(r.out, "%s conflicts in %s: look for the markers (<<<<<<<) before you go on\n", r.outStyle.Yellow("!"), show.Count(l.Conflicts, "file"))
	}
	return nil
}

// show prints the diff and what becomes of each file.
func (r review) show(l client.Landed) {
	st := r.outStyle
	if !r.Stat {
		printDiff(r.out, st, l.Diff)
		if l.DiffCut {
			fmt.Fprintln(r.out, st.Yellow("… the diff goes on"))
		}
	}
	if len(l.Files) > 0 {
		fmt.Fprintln(r.out, st.Bold(terminal.Line(l.Target)))
	}
	for _, f := range l.Files {
		fmt.Fprintf(r.out, "  %s %s%s\n", outcomeMark(st, f.Outcome), terminal.Line(f.Path), st.Dim(remark(f)))
	}
	if more := l.FilesCount - int64(len(l.Files)); more > 0 {
		fmt.Fprintf(r.out, "  … and %s more\n", show.Count(more, "file"))
	}
	if l.Withheld > 0 {
		fmt.Fprintf(r.out, "%s %s: %s\n", st.Yellow("!"), show.Count(l.Withheld, "file"), r.withheld)
	}
	if len(l.LeftBehind) > 0 {
		fmt.Fprintf(r.out, "%s cannot be taken, and stays in the copy: %s\n", st.Yellow("!"), terminal.Line(some(l.LeftBehind, int64(len(l.LeftBehind)))))
	}
	if l.NotUndoneCount > 0 {
		fmt.Fprintf(r.out, "%s ignored or not in a snapshot, so left as they are: %s\n", st.Dim("·"), terminal.Line(some(l.NotUndone, l.NotUndoneCount)))
	}
}

// plans are outcomes before anything is done.
var plans = map[string]string{"written": "write", "merged": "merge", "deleted": "delete"}

// outcomeMark is a word of one width for what will become of a file.
func outcomeMark(st terminal.Style, outcome string) string {
	word := fmt.Sprintf("%-10s", cmp.Or(plans[outcome], outcome))
	switch outcome {
	case "conflicted", "withheld":
		return st.Yellow(word)
	case "deleted":
		return st.Red(word)
	case "already":
		return st.Dim(word)
	}
	return st.Green(word)
}

func remark(f client.LandedFile) string {
	switch {
	case f.Outcome == "conflicted":
		return "  " + terminal.Line(f.Reason)
	case f.Class != "":
		return "  (" + terminal.Line(f.Class) + ")"
	}
	return ""
}

// some names the first of many.
func some(names []string, count int64) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if count > most {
		text += fmt.Sprintf(" and %d more", count-most)
	}
	return text
}

// printDiff prints a unified diff in the usual colours.
func printDiff(w io.Writer, st terminal.Style, diff string) {
	for line := range strings.Lines(diff) {
		line = terminal.Text(strings.TrimRight(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			line = st.Bold(line)
		case strings.HasPrefix(line, "+"):
			line = st.Green(line)
		case strings.HasPrefix(line, "-"):
			line = st.Red(line)
		case strings.HasPrefix(line, "@@"):
			line = st.Dim(line)
		}
		fmt.Fprintln(w, line)
	}
}

// listRestorePoints prints what a workspace can be put back to.
func listRestorePoints(a *app, asJSON bool, run client.Run, points []client.RestorePoint) error {
	if asJSON {
		line, err := json.Marshal(map[string]any{"object": "restore_points", "data": points})
		if err != nil {
			return fmt.Errorf("encode the restore points: %w", err)
		}
		_, err = fmt.Fprintf(a.out, "%s\n", line)
		return err
	}
	usable := 0
	for _, p := range points {
		what := p.ToolName
		if p.OperationID != "" {
			what = "(operation)"
		}
		var changed []string
		for _, c := range p.Changed {
			changed = append(changed, c.Path)
		}
		files := "nothing changed"
		if p.ChangedCount > 0 {
			files = some(changed, p.ChangedCount)
		}
		if !p.Available {
			files += "; no snapshot"
		} else {
			usable++
		}
		fmt.Fprintf(a.out, "%s  %-14s %s\n", p.ID, terminal.Line(what), a.outStyle.Dim(terminal.Line(files)))
	}
	if usable == 0 {
		fmt.Fprintln(a.out, "there is nothing to put back: the run has changed no files")
		return nil
	}
	fmt.Fprintf(a.out, "put the workspace back to before one of them: hecate restore %s --before STEP\n", terminal.Line(run.ID))
	return nil
}
