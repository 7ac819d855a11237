package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"hecate/cmd/hecate/internal/show"
	"hecate/eventstore/proof/verify"
)

// progressEvery is how long verification is silent at a time.
const progressEvery = 5 * time.Second

// auditVerify is "hecate audit verify".
type auditVerify struct {
	What       string   `arg:"" optional:"" help:"A log: a file of SQLite, a data directory or an address postgres://…; or a file that hecate audit export has made. Default: the log that the environment or this directory names."`
	Checkpoint []string `sep:"none" placeholder:"FILE|URL" help:"A checkpoint, or several, that were kept elsewhere. Can be given more than once."`
	Key        []string `sep:"none" placeholder:"KEY|FILE" help:"A public key of the log, from elsewhere. An earlier one leads to those that it vouches for. Can be given more than once."`
	JSON       bool     `name:"json" help:"Print the findings as JSON."`

	given []string // keys
}

// Help is the long help of the command.
func (auditVerify) Help() string {
	return `Reads every record from where it is stored, computes its hash and the tree over all hashes anew, and
compares: with the hashes of the records, with their data and large contents, with the tree that is
stored, with every signed checkpoint, and with the checkpoints that you have kept elsewhere. Only those
and the key say something about somebody who can change the whole database. It names the first record
that is not what it was. It changes nothing, and works while the server runs and when it does not.

Examples:

    hecate audit verify                                       the log of this directory
    hecate audit verify --checkpoint kept.txt --key log.pub   held against what you have kept
    hecate audit verify backup/hecate.db                      a copy, on any machine
    hecate audit verify run.zip                               what hecate audit export has made

Exit codes: 0 nothing was altered; 5 something was; 1 it could not be told; 2 wrong usage.`
}

// Run does the command.
func (c auditVerify) Run(a *app) error {
	ctx := context.Background()
	keys, err := keyArguments(c.Key)
	if err != nil {
		return err
	}
	c.given = keys
	kept, err := a.checkpointArguments(ctx, c.Checkpoint)
	if err != nil {
		return err
	}
	if isExport(c.What) {
		return c.export(a, keys, kept)
	}
	log, err := a.openLog(ctx, c.What)
	if err != nil {
		return err
	}
	defer log.Close()
	names, err := originsOf(ctx, log)
	if err == nil {
		err = aboutThis(names, keys, kept)
	}
	if err != nil {
		return err
	}
	last := time.Now()
	report, err := verify.Log(ctx, log, verify.Options{
		Keys: keys, Checkpoints: kept, Parallel: runtime.GOMAXPROCS(0),
		Progress: func(done, total int64) {
			if time.Since(last) > progressEvery && done < total {
				last = time.Now()
				fmt.Fprintf(a.err, "verified %d %% of %s\n", done*100/total, show.Count(total, "record"))
			}
		},
	})
	if err != nil {
		return err
	}
	return c.print(a, report)
}

// isExport reports whether a file is an archive of an export.
func isExport(path string) bool {
	begins, err := beginOf(path, len(zipMagic))
	return err == nil && begins == zipMagic
}

// zipMagic is what an archive with anything in it begins with.
const zipMagic = "PK\x03\x04"
