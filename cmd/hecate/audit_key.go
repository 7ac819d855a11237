package main

import (
	"context"
	"errors"
	"fmt"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/eventstore/proof/verify"
)

// auditKey is "hecate audit key".
type auditKey struct {
	Show    auditKeyShow    `cmd:"" default:"withargs" help:"Print the public keys of the log (the default)."`
	Rotate  auditKeyRotate  `cmd:"" help:"Change the key for a new one, which the old one vouches for."`
	Replace auditKeyReplace `cmd:"" help:"Put a new key in place of one that is lost."`
}

// Help is the long help of the command.
func (auditKey) Help() string {
	return `The keys that the checkpoints of the log can be checked with. Keep them with the first checkpoint: a key that
is read from the database later says nothing about somebody who can change the database. An earlier key
that you have kept goes on being worth something: it leads to those that it vouches for.

    hecate audit key >/elsewhere/log.pub
    hecate audit key rotate --reason "the yearly change" >>/elsewhere/log.pub`
}

// unsealedAdvice is what to do about a log that nothing of is sealed.
const unsealedAdvice = "a server seals its log about a second after the first event: start a server (hecate serve), or a task if one runs"

type auditKeyShow struct {
	Log string `placeholder:"LOG" help:"A file of SQLite, a data directory or an address postgres://…; default: what the environment or this directory names."`
}

// Run does the command. A log that has had one key prints nothing but that.
func (c auditKeyShow) Run(a *app) error {
	ctx := context.Background()
	log, err := a.openLog(ctx, c.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	keys, findings, err := verify.Keys(ctx, log)
	if err != nil {
		return fmt.Errorf("read the keys of %s: %w", log, err)
	}
	if len(keys) == 0 {
		return advise(errors.New("the log is not sealed yet, so it names no key"), unsealedAdvice)
	}
	for _, k := range keys {
		if len(keys) > 1 {
			fmt.Fprintf(a.out, "# %s\n", terminal.Line(aboutKey(k)))
		}
		fmt.Fprintln(a.out, terminal.Line(k.Public))
	}
	for _, f := range findings {
		fmt.Fprintf(a.err, "%s\n", terminal.Line(f.Text))
	}
	if len(findings) > 0 {
		return advise(errors.New("what the log says about its keys does not hold together"), "see: hecate audit verify")
	}
	return nil
}

// aboutKey says since when a key signs, and whose word there is for it.
func aboutKey(k verify.Key) string {
	text := "has signed nothing yet"
	if k.Since > 0 {
		text = "signs since the checkpoint for " + show.Count(k.Since, "record")
	}
	switch {
	case k.Replaced:
		text += fmt.Sprintf("; in place of a lost key, which does not vouch for it, by record %d", k.Named)
	case k.Named > 0:
		text += fmt.Sprintf("; named by the key before, in record %d", k.Named)
	}
	if k.Reason != "" {
		text += ": " + k.Reason
	}
	return text
}
