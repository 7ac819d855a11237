package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"hecate/cmd/hecate/internal/operators"
	"hecate/domain/clock"
)

// operatorsCommand is "hecate operators".
type operatorsCommand struct {
	List   operatorsList   `cmd:"" default:"1" help:"Who has a token (the default)."`
	Add    operatorsAdd    `cmd:"" help:"Make an operator, and print the token."`
	Revoke operatorsRevoke `cmd:"" help:"Accept an operator's token no longer."`
}

// Help is the long help of the command.
func (operatorsCommand) Help() string {
	return `An operator's token proves who answers approvals; the name stands in the log. The first operator is made with
the data directory, and the token stands there in operator.token: commands on the server's machine use it by
themselves. Elsewhere it is given in HECATE_OPERATOR_TOKEN, or in the header X-Hecate-Operator-Token.

These commands edit the list of the data directory, or the one that HECATE_OPERATORS_FILE names. A server that
runs sees the change with its next request.`
}

type operatorsList struct{}

// Run does the command.
func (operatorsList) Run(a *app) error {
	path, err := a.operatorsFile()
	if err != nil {
		return err
	}
	list, err := operators.Read(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "operators of %s\n", path)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMADE\tREVOKED")
	for _, o := range list {
		revoked := "no"
		if !o.Active() {
			revoked = o.Revoked.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Name, o.Created.Local().Format(time.DateTime), revoked)
	}
	return w.Flush()
}

type operatorsAdd struct {
	Name string `arg:"" help:"1 to 64 letters, digits or . _ @ -"`
}

// Run does the command. Nothing but the token goes to standard output.
func (c operatorsAdd) Run(a *app) error {
	path, err := a.operatorsFile()
	if err != nil {
		return err
	}
	if !operators.Sane(c.Name) {
		return usage(fmt.Errorf("%.80q is no name for an operator: use 1 to 64 letters, digits or . _ @ -", c.Name))
	}
	token, err := operators.Add(path, c.Name, clock.System{}.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(a.err, "made operator %s in %s; the token is shown this once:\n", c.Name, path)
	fmt.Fprintln(a.out, token)
	return nil
}

type operatorsRevoke struct {
	Name string `arg:"" help:"The operator."`
}

// Run does the command.
func (c operatorsRevoke) Run(a *app) error {
	path, err := a.operatorsFile()
	if err != nil {
		return err
	}
	revoked, err := operators.Revoke(path, c.Name, clock.System{}.Now())
	if errors.Is(err, operators.ErrUnknown) {
		return advise(err, "see: hecate operators")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is an operator no longer\n", c.Name)
	return a.forgetToken(revoked)
}

// forgetToken removes the file of a token that is worth nothing: with it, every command
// on this machine would be refused.
func (a *app) forgetToken(o operators.Operator) error {
	for _, dir := range a.dataDirs() {
		path := filepath.Join(dir, operators.TokenFile)
		token, err := operators.ReadToken(path)
		if err != nil || token == "" || !o.Owns(token) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return advise(fmt.Errorf("remove the file of the token: %w", err), "remove it, or put another token into it: hecate operators add NAME >"+path)
		}
		fmt.Fprintf(a.err, "removed %s, which held the token; put another one there: hecate operators add NAME >%s\n", path, path)
	}
	return nil
}

// operatorsFile finds the list that the commands are about.
func (a *app) operatorsFile() (string, error) {
	if path := a.getenv("HECATE_OPERATORS_FILE"); path != "" {
		return path, nil
	}
	for _, dir := range a.dataDirs() {
		path := filepath.Join(dir, operators.ListFile)
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", advise(errors.New("no list of operators is here; a server makes it in its data directory when it starts"),
		"start one: hecate serve; or name the list: HECATE_DATA_DIR, or HECATE_OPERATORS_FILE")
}
