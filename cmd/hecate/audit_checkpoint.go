package main

import (
	"context"
	"fmt"

	"hecate/cmd/hecate/internal/show"
)

// auditCheckpoint is "hecate audit checkpoint".
type auditCheckpoint struct {
	Log string `placeholder:"LOG" help:"A file of SQLite, a data directory or an address postgres://…; default: what the environment or this directory names."`
}

// Help is the long help of the command.
func (auditCheckpoint) Help() string {
	return `Keep what it prints where nobody who can reach the database can change it. It proves later that all
records up to then are still what they were:

    hecate audit checkpoint >>/elsewhere/checkpoints.txt
    hecate audit verify --checkpoint /elsewhere/checkpoints.txt`
}

// Run does the command.
func (c auditCheckpoint) Run(a *app) error {
	ctx := context.Background()
	log, err := a.openLog(ctx, c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	newest, err := log.Newest(ctx)
	if err != nil {
		return fmt.Errorf("read the newest checkpoint of %s: %w", log, err)
	}
	if newest.Size == 0 {
		return advise(fmt.Errorf("nothing of %s is sealed yet", log), unsealedAdvice)
	}
	if _, err := a.out.Write(newest.Note); err != nil {
		return err
	}
	bounds, err := log.Bounds(ctx)
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", log, err)
	}
	if tail := bounds.Last - newest.Size; tail > 0 {
		fmt.Fprintf(a.err, "%s behind it not sealed yet\n", show.Count(tail, "record"))
	}
	return nil
}
