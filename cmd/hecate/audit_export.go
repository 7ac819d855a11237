package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/operation"
	"hecate/domain/task"
	"hecate/eventstore/proof/archive"
	"hecate/eventstore/proof/stored"
)

// exportPage is how many records are read at a time.
const exportPage = 500

// auditExport is "hecate audit export".
type auditExport struct {
	RunID      string `name:"run" placeholder:"RUN" xor:"what" help:"The records of this run, with what callers and operators have added to it."`
	TaskID     string `name:"task" placeholder:"TASK" xor:"what" help:"The records of this task and of all its runs."`
	From       int64  `placeholder:"N" help:"Records from this position on."`
	To         int64  `placeholder:"N" help:"Records up to this position."`
	Output     string `short:"o" placeholder:"FILE" help:"Where to write it; - for standard output. Default: a file here that is named after what is in it."`
	Checkpoint string `placeholder:"FILE|URL" help:"Prove the records against this checkpoint, which was kept elsewhere, instead of the newest one."`
	Log        string `placeholder:"LOG" help:"A file of SQLite, a data directory or an address postgres://…; default: what the environment or this directory names."`
}

// Help is the long help of the command.
func (auditExport) Help() string {
	return `Writes one file with records, their large contents, a signed checkpoint and the hashes that lead from
each record to it. Whoever has the file and the public key of the log can check it on any machine:

    hecate audit export --run run_5d20…
    hecate audit verify run_5d20….zip --key log.pub

It proves that the records are those that were sealed, each at its place. That nothing was left out
behind the last one of a stream it cannot prove. The file holds everything that the records hold.`
}

// Run does the command.
func (c auditExport) Run(a *app) error {
	ctx := context.Background()
	if err := c.check(); err != nil {
		return usage(err)
	}
	log, err := a.openLog(ctx, c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	s, name, err := c.selection(ctx, log)
	if err != nil {
		return err
	}
	if c.Checkpoint == "" {
		if err := sealed(ctx, log); err != nil {
			return err
		}
	} else {
		kept, err := a.checkpointArguments(ctx, []string{c.Checkpoint})
		if err != nil {
			return err
		}
		s.Checkpoint = kept[len(kept)-1]
		names, err := originsOf(ctx, log)
		if err == nil {
			err = aboutThis(names, nil, [][]byte{s.Checkpoint})
		}
		if err != nil {
			return err
		}
	}
	s.MadeBy = version()
	if c.Output == "-" {
		_, err := archive.Write(ctx, a.out, log, s)
		return err
	}
	if c.Output != "" {
		name = c.Output
	}
	return c.toFile(ctx, a, log, s, name)
}

// check looks at what is asked for before a log is opened.
func (c auditExport) check() error {
	whole, part := c.RunID != "" || c.TaskID != "", c.From != 0 || c.To != 0
	switch {
	case !whole && !part:
		return errors.New("say what to export: --run RUN, --task TASK, or --from N --to N")
	case whole && part:
		return errors.New("--from and --to do not go with --run or --task: those are exported whole")
	case c.From < 0 || c.To < 0:
		return errors.New("--from and --to are numbers above 0")
	case c.To != 0 && c.To < c.From:
		return fmt.Errorf("--from %d is behind --to %d", c.From, c.To)
	}
	return nil
}

// Of a log whose server runs, the newest records are sealed in a moment.
const (
	sealPatience = 3 * time.Second
	sealLook     = 100 * time.Millisecond
)

// sealed waits a moment until all that is in the log by now is sealed. If it is not by then, the
// export has records without a proof, and says how many.
func sealed(ctx context.Context, log *stored.Log) error {
	bounds, err := log.Bounds(ctx)
	if err != nil {
		return err
	}
	for end := time.Now().Add(sealPatience); time.Now().Before(end); time.Sleep(sealLook) {
		if newest, err := log.Newest(ctx); err != nil || newest.Size >= bounds.Last {
			return err
		}
	}
	return nil
}

// toFile writes the file and checks it.
func (c auditExport) toFile(ctx context.Context, a *app, log *stored.Log, s archive.Selection, name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return advise(fmt.Errorf("write the export: there is a file %s already", name), "give the export another name: -o FILE")
	}
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	defer f.Close()
	manifest, err := archive.Write(ctx, f, log, s)
	if err == nil {
		err = proves(f)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	fmt.Fprintf(a.out, "%s: %s of %s, under the checkpoint for %s\n", name, show.Count(manifest.Records, "record"), terminal.Line(manifest.Asked), show.Count(manifest.Size, "record"))
	fmt.Fprintf(a.out, "check it: hecate audit verify %s --key KEY\n", name)
	return nil
}

// proves verifies what was written: a log that was altered should not be exported as a sound one.
func proves(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	r, err := archive.Verify(f, size, nil, nil)
	if err != nil {
		return err
	}
	if !r.Sound() {
		return advise(fmt.Errorf("the log does not prove its records: %s", r.Findings[0].Text), "see: hecate audit verify")
	}
	return nil
}

// selection finds the records that were asked for, and a name for the file.
func (c auditExport) selection(ctx context.Context, log *stored.Log) (s archive.Selection, file string, err error) {
	if c.RunID == "" && c.TaskID == "" {
		return c.stretch(ctx, log)
	}
	streams, asked := []string{commands.TaskStream(c.TaskID)}, "task "+c.TaskID
	runs, file := []string{c.RunID}, c.RunID
	if c.TaskID != "" {
		file = c.TaskID
		if runs, err = runsOf(ctx, log, c.TaskID); err != nil {
			return s, "", err
		}
	} else {
		streams, asked = nil, "run "+c.RunID
	}
	for _, run := range runs {
		streams = append(streams, commands.RunStream(run), commands.ExternalStream(run))
	}
	operations, err := operationsOn(ctx, log, runs)
	if err != nil {
		return s, "", err
	}
	streams = append(streams, operations...)
	first, err := log.StreamRows(ctx, streams[0], 0, 1)
	if err == nil && len(first) == 0 {
		err = advise(fmt.Errorf("there is no %s in %s", asked, log), "see: hecate tasks")
	}
	return archive.Selection{Asked: asked, Records: rowsOf(ctx, log, streams)}, fileName(file), err
}

// stretch selects records by their positions.
func (c auditExport) stretch(ctx context.Context, log *stored.Log) (s archive.Selection, file string, err error) {
	bounds, err := log.Bounds(ctx)
	if err != nil {
		return s, "", err
	}
	s.From, s.To = max(1, c.From), bounds.Last
	if c.To != 0 {
		s.To = c.To
	}
	if s.To > bounds.Last || s.From > s.To {
		return s, "", fmt.Errorf("the log ends with record %d", bounds.Last)
	}
	s.Asked = fmt.Sprintf("records %d to %d", s.From, s.To)
	s.Records = func(yield func(stored.Row, error) bool) {
		for after := s.From - 1; after < s.To; after += exportPage {
			rows, err := log.Rows(ctx, after, min(after+exportPage, s.To))
			if !each(rows, err, yield) {
				return
			}
		}
	}
	return s, fmt.Sprintf("records-%d-%d.zip", s.From, s.To), nil
}

// fileName is what an id is called as a file, here.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, id) + ".zip"
}

// rowsOf reads streams one after another.
func rowsOf(ctx context.Context, log *stored.Log, streams []string) iter.Seq2[stored.Row, error] {
	return func(yield func(stored.Row, error) bool) {
		for _, stream := range streams {
			for after := int64(0); ; {
				rows, err := log.StreamRows(ctx, stream, after, exportPage)
				if !each(rows, err, yield) {
					return
				}
				if len(rows) == 0 {
					break
				}
				after = rows[len(rows)-1].Version
			}
		}
	}
}

// each hands on rows, or the error instead.
func each(rows []stored.Row, err error, yield func(stored.Row, error) bool) bool {
	if err != nil {
		return yield(stored.Row{}, err) && false
	}
	for _, r := range rows {
		if !yield(r, nil) {
			return false
		}
	}
	return true
}

// runsOf lists the runs of a task.
func runsOf(ctx context.Context, log *stored.Log, taskID string) (runs []string, err error) {
	for row, err := range rowsOf(ctx, log, []string{commands.TaskStream(taskID)}) {
		if err != nil {
			return nil, fmt.Errorf("read task %s: %w", taskID, err)
		}
		p, err := event.Decode(row.Type, row.Schema, row.Data, nil)
		if opened, ok := p.(task.RunOpened); err == nil && ok {
			runs = append(runs, opened.RunID)
		}
	}
	return runs, nil
}

// operationsOn lists the streams of what was done to the workspaces of runs from outside.
func operationsOn(ctx context.Context, log *stored.Log, runs []string) (streams []string, err error) {
	rows, err := log.RowsOfType(ctx, operation.Requested{}.EventType())
	if err != nil {
		return nil, fmt.Errorf("look for operations on workspaces: %w", err)
	}
	for _, row := range rows {
		p, err := event.Decode(row.Type, row.Schema, row.Data, nil)
		if requested, ok := p.(operation.Requested); err == nil && ok && slices.Contains(runs, requested.RunID) {
			streams = append(streams, row.Stream)
		}
	}
	return streams, nil
}

// export verifies a file that hecate audit export has made.
func (c auditVerify) export(a *app, keys []string, kept [][]byte) error {
	f, err := os.Open(c.What)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	names, err := archive.Origins(f, size)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.What, err)
	}
	if err := aboutThis(names, keys, kept); err != nil {
		return err
	}
	r, err := archive.Verify(f, size, keys, kept)
	if err != nil {
		return fmt.Errorf("verify %s: %w", c.What, err)
	}
	return c.printExport(a, r)
}
