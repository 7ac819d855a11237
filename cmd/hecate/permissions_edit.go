package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// permissionsAt is where permission files are looked at and changed: a server, or the
// files themselves.
type permissionsAt interface {
	Permissions(ctx context.Context, dir, task string) (client.Permissions, error)
	AcceptPermissions(ctx context.Context, dir, digest string) error
	RevokeEntry(ctx context.Context, dir, id string) error
}

// permissionsWhere says which files and which session a command is about.
type permissionsWhere struct {
	serverFlags
	Dir string `default:"." help:"The project, or a directory in it."`
}

// at finds the server that was named or runs on this machine; without one the files
// themselves, and server is nil. With a task there must be a log: without a server it
// is read in place.
func (w permissionsWhere) at(ctx context.Context, a *app, task string) (at permissionsAt, server *client.Client, dir string, done func(), err error) {
	done = func() {}
	if dir, err = directory(w.Dir); err != nil {
		return nil, nil, "", done, usage(err)
	}
	if task != "" {
		server, done, err = w.reader(ctx, a)
	} else {
		server, err = w.find(ctx, a)
	}
	switch {
	case err != nil:
		return nil, nil, "", func() {}, err
	case server == nil:
		return a.filesAtHand(), nil, dir, done, nil
	}
	return server, server, dir, done, nil
}

// sayUnrecorded says that a change stands in no log.
func sayUnrecorded(a *app, server *client.Client) {
	if server == nil {
		fmt.Fprintln(a.out, "  no server runs on this machine, so no log recorded it")
	}
}

// permissionsList is "hecate permissions list".
type permissionsList struct {
	permissionsWhere
	Task string `placeholder:"TASK" help:"Also what was given for the session of this task's latest run."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run does the command.
func (c permissionsList) Run(a *app) error {
	ctx := context.Background()
	at, _, dir, done, err := c.at(ctx, a, c.Task)
	if err != nil {
		return err
	}
	defer done()
	p, err := at.Permissions(ctx, dir, c.Task)
	if err != nil {
		return fmt.Errorf("look at the permissions of %s: %w", dir, err)
	}
	if c.JSON {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(p)
	}
	showPermissions(a, p, c.Task)
	return nil
}

func showPermissions(a *app, p client.Permissions, task string) {
	fmt.Fprintf(a.out, "your file:    %s\n", orNone(p.UserFile))
	fmt.Fprintf(a.out, "the project's: %s\n", orNone(p.ProjectFile))
	switch {
	case p.ProjectFile == "":
	case !p.ProjectExists:
		fmt.Fprintln(a.out, "  there is none yet")
	case !p.ProjectAccepted:
		fmt.Fprintln(a.out, "  not accepted: what it forbids is in force, what it grants is not; see: hecate permissions accept")
	}
	showEntries(a.out, p.Entries)
	if len(p.Waiting) > 0 {
		fmt.Fprintln(a.out, "once the project's file is accepted:")
		showEntries(a.out, p.Waiting)
	}
	if len(p.Shut) > 0 {
		fmt.Fprintln(a.out, "not in force until its file is mended:")
		showEntries(a.out, p.Shut)
	}
	for _, l := range p.Locks {
		fmt.Fprintf(a.out, "lock %s (%s): %s\n", terminal.Line(l.Name), terminal.Line(l.At), terminal.Line(strings.Join(l.Patterns, ", ")))
	}
	if task != "" && len(p.Session) == 0 {
		fmt.Fprintf(a.out, "nothing was given for the session of %s\n", terminal.Line(task))
	}
	for _, g := range p.Session {
		fmt.Fprintf(a.out, "session       %s\n  %s, in %s\n", terminal.Line(g.Scope), terminal.Line(g.ID), terminal.Line(g.RunID))
	}
	for _, x := range p.Problems {
		a.sayProblem(permission.Problem{List: x.List, At: x.At, Refused: x.Refused, Message: x.Message})
	}
}

// sayProblem writes what is wrong with a permission file, wherever it was noticed: the
// file and the line, what is wrong, and what to do.
func (a *app) sayProblem(p permission.Problem) {
	fmt.Fprintf(a.err, "%s %s\n", a.errStyle.Yellow("!"), terminal.Line(p.String()))
}

func orNone(path string) string {
	if path == "" {
		return "none"
	}
	return terminal.Line(path)
}

// listWords are the lists in short, for people.
var listWords = map[string]string{
	"permissions.deny": "deny", "permissions.approve": "approve", "permissions.promoted": "promoted",
	"network.deny": "deny host", "network.allow": "allow host", "network.promoted": "promoted host",
}

func showEntries(w io.Writer, entries []client.PermissionEntry) {
	for _, e := range entries {
		list := listWords[e.List]
		if list == "" {
			list = terminal.Line(e.List)
		}
		fmt.Fprintf(w, "%-13s %s\n", list, terminal.Line(e.Text))
		if e.Covers != "" {
			fmt.Fprintf(w, "  = %s\n", terminal.Line(e.Covers))
		}
		switch forbids := e.List == permission.ListDeny || e.List == permission.ListHostDeny; {
		case e.Reason == "":
		case forbids:
			fmt.Fprintf(w, "  the model is told: %s\n", lines(e.Reason))
		default:
			fmt.Fprintf(w, "  reason: %s\n", lines(e.Reason))
		}
		fmt.Fprintf(w, "  %s, %s\n", terminal.Line(e.ID), terminal.Line(e.At))
	}
}

// lines are those of a reason, each harmless and below the other.
func lines(reason string) string {
	all := strings.Split(strings.TrimSpace(reason), "\n")
	for i, line := range all {
		all[i] = terminal.Line(line)
	}
	return strings.Join(all, "\n    ")
}

// permissionsRevoke is "hecate permissions revoke".
type permissionsRevoke struct {
	permissionsWhere
	ID   string `arg:"" help:"The entry or grant, or the beginning of it: see hecate permissions list."`
	Task string `placeholder:"TASK" help:"End what was given for the session of this task's latest run, instead of an entry of a file."`
}

// Run does the command.
func (c permissionsRevoke) Run(a *app) error {
	ctx := context.Background()
	at, server, dir, done, err := c.at(ctx, a, c.Task)
	if err != nil {
		return err
	}
	defer done()
	p, err := at.Permissions(ctx, dir, c.Task)
	if err != nil {
		return fmt.Errorf("look at the permissions of %s: %w", dir, err)
	}
	if c.Task != "" {
		return c.endGrant(ctx, a, server, p.Session)
	}
	entries := slices.Concat(p.Entries, p.Waiting)
	e, err := pick(entries, c.ID, func(e client.PermissionEntry) string { return e.ID })
	if err != nil {
		return err
	}
	if err := at.RevokeEntry(ctx, dir, e.ID); err != nil {
		return fmt.Errorf("take %s out of %s: %w", e.Text, e.List, err)
	}
	fmt.Fprintf(a.out, "%s took %s out of %s of the %s's file\n", a.outStyle.Green("✓"), terminal.Line(e.Text), terminal.Line(e.List), terminal.Line(e.Layer))
	sayUnrecorded(a, server)
	return nil
}

func (c permissionsRevoke) endGrant(ctx context.Context, a *app, server *client.Client, session []client.SessionGrant) error {
	if server == nil {
		return advise(errors.New("there is no log here that would know the task"), "start a server: hecate serve")
	}
	g, err := pick(session, c.ID, func(g client.SessionGrant) string { return g.ID })
	if err != nil {
		return err
	}
	if err := server.RevokeGrant(ctx, c.Task, g.ID); err != nil {
		return fmt.Errorf("revoke %s: %w", g.ID, err)
	}
	fmt.Fprintf(a.out, "%s %s is given no longer in the session of %s\n", a.outStyle.Green("✓"), terminal.Line(g.Scope), terminal.Line(c.Task))
	return nil
}

// pick finds what is meant by an id or the beginning of one.
func pick[T any](all []T, id string, of func(T) string) (T, error) {
	var found []T
	for _, x := range all {
		switch {
		case of(x) == id:
			return x, nil
		case id != "" && strings.HasPrefix(of(x), id):
			found = append(found, x)
		}
	}
	var none T
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return none, advise(fmt.Errorf("there is nothing with the id %s", id), "see: hecate permissions list, with --task for a session")
	}
	return none, usage(fmt.Errorf("%s is the beginning of %d ids", id, len(found)))
}

// permissionsAccept is "hecate permissions accept".
type permissionsAccept struct {
	permissionsWhere
	Yes string `placeholder:"DIGEST" help:"Do not ask: accept the file with this digest, as it was shown."`
}

// Help is the long help of the command.
func (permissionsAccept) Help() string {
	return `A project's permission file comes with the project. What it forbids is in force at once; what it grants
counts only after you have accepted it, as it is: if somebody else changes it, it has to be looked at again.`
}

// Run does the command.
func (c permissionsAccept) Run(a *app) error {
	ctx := context.Background()
	at, server, dir, done, err := c.at(ctx, a, "")
	if err != nil {
		return err
	}
	defer done()
	p, err := at.Permissions(ctx, dir, "")
	switch {
	case err != nil:
		return fmt.Errorf("look at the permissions of %s: %w", dir, err)
	case !p.ProjectExists:
		return fmt.Errorf("there is no %s to accept", p.ProjectFile)
	case c.Yes != "" && p.ProjectDigest != "" && c.Yes != p.ProjectDigest:
		return advise(fmt.Errorf("%s is not what was shown: its digest is %s", p.ProjectFile, p.ProjectDigest), "look at it again: hecate permissions accept")
	case p.ProjectAccepted:
		_, err := fmt.Fprintf(a.out, "%s is accepted as it is\n", terminal.Line(p.ProjectFile))
		return err
	case p.ProjectDigest == "":
		showPermissions(a, p, "")
		return fmt.Errorf("%s cannot be accepted until it is mended", p.ProjectFile)
	}
	says := "would grant:"
	if len(p.Waiting) == 0 {
		says = "grants nothing so far; once it is accepted, answers can be remembered in it"
	}
	fmt.Fprintf(a.out, "%s %s\n", terminal.Line(p.ProjectFile), says)
	showEntries(a.out, p.Waiting)
	fmt.Fprintf(a.out, "digest %s\n", terminal.Line(p.ProjectDigest))
	if c.Yes == "" {
		if err := a.confirm("accept? y or n: ", "hecate permissions accept --yes "+p.ProjectDigest); err != nil {
			return err
		}
	}
	if err := at.AcceptPermissions(ctx, dir, p.ProjectDigest); err != nil {
		return fmt.Errorf("accept %s: %w", p.ProjectFile, err)
	}
	fmt.Fprintf(a.out, "%s accepted\n", a.outStyle.Green("✓"))
	sayUnrecorded(a, server)
	return nil
}

// confirm asks on the terminal. Anything but a clear yes is a no; where nobody can be
// asked it says how to do without.
func (a *app) confirm(what, without string) error {
	if !a.inTTY {
		return &failure{code: exitRefused, err: errors.New("nobody can be asked here"), next: "after looking at it: " + without}
	}
	p := newPrompter(a.in, a.dropTyped)
	p.ask(a.out, what)
	switch l := p.take(<-p.lines); strings.ToLower(strings.TrimSpace(l.text)) {
	case "y", "yes":
		if !l.ended {
			return nil
		}
	}
	return &failure{code: exitRefused, err: errors.New("nothing was done")}
}
