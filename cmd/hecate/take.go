package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/run"
)

// takeCommand is "hecate take".
type takeCommand struct {
	serverFlags
	From      string   `arg:"" optional:"" name:"run" help:"The run, or a task for its latest run. Default: the latest run of all."`
	Paths     []string `arg:"" optional:"" help:"Only these files, and what is below these directories. Default: everything."`
	Branch    *string  `placeholder:"NAME" help:"Make a commit on a new git branch, and leave the files themselves as they are."`
	Sensitive bool     `help:"Take files that make programs run, or say what agents may do, as well."`
	Markers   bool     `help:"Where texts conflict, write both sides with the usual markers."`
	reviewFlags
}

// Help is the long help of the command.
func (takeCommand) Help() string {
	return `A run works on a copy. This puts what it has changed there into the directory that the copy was made from.
Files that were changed in that directory meanwhile are merged; if one conflicts, nothing is written. You see every
change before, and only what you saw is written.

Examples:

    hecate take                            all that the latest run has changed
    hecate take run_5d20… src go.mod       some of it
    hecate take --branch agent/fix         as a commit on a new branch`
}

// Run does the command.
func (c takeCommand) Run(a *app) error {
	branch := ""
	switch {
	case c.From != "" && !strings.HasPrefix(c.From, "run_") && !strings.HasPrefix(c.From, "task_"):
		return usage(fmt.Errorf("%s names no run; the run comes first, then paths: hecate take RUN %[1]s", c.From))
	case c.Branch != nil && *c.Branch == "":
		return usage(errors.New("--branch needs a name"))
	case c.Branch != nil:
		branch = *c.Branch
	}
	ctx := context.Background()
	return c.withServer(ctx, a, startForOperations(c.From), func(server *client.Client, _ *localServer) error {
		run, err := findRun(ctx, server, c.From)
		if err != nil {
			return err
		}
		plan := client.Take{Paths: c.Paths, Branch: branch, Sensitive: c.Sensitive, Markers: c.Markers}
		r := review{app: a, reviewFlags: c.reviewFlags, command: "hecate take " + run.ID, question: "take this? y or n: ", done: "written", nothing: func() string { return nothingToTake(ctx, server, run) }}
		if !c.Markers {
			r.conflicting = "take the others by naming them, or have both sides written: --markers"
		}
		r.withheld = "files that make programs run, or say what agents may do, stay behind; to take them as well: --sensitive"
		return r.through(func(digest string) (client.Landed, error) { return server.TakeRun(ctx, run, plan, digest, r.waiting) })
	})
}

// nothingToTake says that there is nothing, and where it is if it was taken before.
func nothingToTake(ctx context.Context, server *client.Client, of client.Run) string {
	const nothing = "there is nothing to take"
	var last run.WorkspaceTaken
	var at time.Time
	err := eachEvent(ctx, server, of.TaskID, of.ID, func(e client.Event) bool {
		var taken run.WorkspaceTaken
		if e.Type == taken.EventType() && json.Unmarshal(e.Data, &taken) == nil && taken.Whole && taken.Branch == "" { // what is on a branch can be taken again
			last, at = taken, e.OccurredAt
		}
		return true
	})
	if err != nil || at.IsZero() {
		return nothing
	}
	text := nothing + ": all that the run has changed was taken already, on " + shortTime(&at) + ", into " + terminal.Line(last.Target)
	if r, err := server.Run(ctx, of.TaskID, of.ID); err == nil && r.WorkspacePath != "" {
		text += "\n  what you have undone there since is in the copy still: " + terminal.Line(r.WorkspacePath)
	}
	return text
}

// restoreCommand is "hecate restore".
type restoreCommand struct {
	serverFlags
	From   string `arg:"" optional:"" name:"run" help:"The run, or a task for its latest run. Default: the latest run of all."`
	Before string `placeholder:"CALL" help:"The step, call or operation before which the workspace is to be again. Without it: list them."`
	Patch  string `placeholder:"PATCH" help:"Take back one change of a file instead: the file, or the id of the patch."`
	Force  bool   `help:"Put back also what was changed since by others than the run."`
	reviewFlags
}

// Help is the long help of the command.
func (restoreCommand) Help() string {
	return `It makes the files of a run's workspace what they were before one of its calls. Ignored files and commits
stay as they are. What it did can be put back in the same way.

Examples:

    hecate restore                                     what there is to go back to in the latest run
    hecate restore run_5d20… --before step_81be…       back to before that call
    hecate restore run_5d20… --patch internal/a.go     without the last change of that file, if it is still as that left it`
}

// Run does the command.
func (c restoreCommand) Run(a *app) error {
	if c.Patch != "" && (c.Before != "" || c.Force) {
		return usage(errors.New("--patch takes back one change: leave --before and --force out"))
	}
	ctx := context.Background()
	return c.withServer(ctx, a, startForOperations(c.From), func(server *client.Client, _ *localServer) error {
		run, err := findRun(ctx, server, c.From)
		if err != nil {
			return err
		}
		if c.Patch != "" {
			return c.revert(ctx, a, server, run)
		}
		points, err := server.RestorePoints(ctx, run)
		if err != nil {
			return fmt.Errorf("list the restore points of run %s: %w", run.ID, err)
		}
		if c.Before == "" {
			return listRestorePoints(a, c.JSON, run, points)
		}
		plan := client.Restore{Before: c.Before, Force: c.Force}
		r := review{
			app: a, reviewFlags: c.reviewFlags, command: "hecate restore " + run.ID + " --before " + c.Before,
			question: "put this back? y or n: ", done: "put back", nothing: func() string { return "the workspace is as it was then already" },
		}
		if !c.Force {
			r.conflicting = "they were changed since by others than the run; to put them back as well: --force"
		}
		return r.through(func(digest string) (client.Landed, error) {
			return server.RestoreRun(ctx, run, plan, digest, r.waiting)
		})
	})
}

// startForOperations returns what starts a server on the data directory that has a run. It
// executes no runs: what was left open stays so.
func startForOperations(run string) func(context.Context, *app) (*localServer, error) {
	return func(ctx context.Context, a *app) (*localServer, error) {
		var missing error
		for _, dir := range a.dataDirs() {
			if _, err := os.Stat(filepath.Join(dir, "hecate.db")); err != nil {
				continue
			}
			local, err := a.startLocal(ctx, dir, map[string]string{"HECATE_TASK_RUNS_ENABLED": "false"})
			if err != nil {
				return nil, err
			}
			if _, missing = findRun(ctx, local.Client, run); missing == nil {
				return local, nil
			}
			_ = local.close() // it did nothing
		}
		if missing == nil {
			_, missing = serverFlags{}.connect(ctx, a)
		}
		return nil, missing
	}
}
