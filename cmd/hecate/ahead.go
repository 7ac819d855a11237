package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/caarlos0/env/v11"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
	"hecate/runtime/permissions"
)

// aheadFlags are common to the commands that open a run: what becomes of its questions
// is decided by the server, for this run alone.
type aheadFlags struct {
	Yes           bool     `short:"y" help:"Approve what level 2 and the server's policies ask about."`
	YesReally     bool     `help:"Approve that, and fetches from any https host."`
	AllowTools    []string `name:"allow-tools" sep:"none" placeholder:"PATTERN" help:"Approve the calls that this matches, such as 'exec(cargo) args(*)'. Can be given more than once."`
	ProjectConfig string   `placeholder:"PATH" help:"The project's permission file, in place of its .hecate/config.toml."`
}

// ahead is what the flags say about a run that is left to the server.
func (f aheadFlags) ahead() (run.Ahead, error) {
	for _, text := range f.AllowTools {
		p, err := pattern.Parse(text)
		if err == nil && !p.Bare() { // a bare web_fetch opens hosts here, and only here
			_, err = p.ForApprove()
		}
		if err != nil {
			return run.Ahead{}, usage(fmt.Errorf("--allow-tools: %w", err))
		}
	}
	out := run.Ahead{AllowTools: f.AllowTools, Yes: f.Yes, YesReally: f.YesReally}
	if f.ProjectConfig != "" {
		abs, err := filepath.Abs(f.ProjectConfig)
		if err != nil {
			return run.Ahead{}, usage(fmt.Errorf("--project-config %s: %w", f.ProjectConfig, err))
		}
		out.ProjectConfig = abs
	}
	if err := out.Check(); err != nil {
		return run.Ahead{}, usage(errors.New(err.Error()))
	}
	return out, nil
}

// warn says of patterns that cover less than they seem to.
func (f aheadFlags) warn(a *app) {
	for _, text := range f.AllowTools {
		p, err := pattern.Parse(text)
		if err != nil || p.Bare() {
			continue
		}
		if warning, err := p.ForApprove(); err == nil && warning != "" {
			fmt.Fprintf(a.err, "%s --allow-tools %s: %s\n", a.errStyle.Yellow("!"), terminal.Line(text), terminal.Line(warning))
		}
	}
}

// checkFiles says what is wrong with the permission files that a run in a directory of
// this machine obeys. A file that was named has to be there and to be right: without
// its deny entries more would run than was meant.
func (f aheadFlags) checkFiles(a *app, dir string) error {
	project := permissions.Project{Dir: dir}
	if f.ProjectConfig != "" {
		abs, err := filepath.Abs(f.ProjectConfig)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err != nil {
			return usage(fmt.Errorf("--project-config: %w", err))
		}
		project.File = abs
	}
	wrong := false
	files := permissions.New(userConfigDir(env.ToMap(a.environ)), slog.New(slog.DiscardHandler))
	for _, p := range files.ProblemsOf(project) {
		wrong = wrong || p.Refused && p.Layer == permission.LayerProject
		a.sayProblem(p)
	}
	if wrong && f.ProjectConfig != "" {
		return usage(fmt.Errorf("--project-config %s: the file has mistakes, see above", f.ProjectConfig))
	}
	return nil
}

// watched is what the flags say about a run that is followed here: what asks waits for
// the person at the terminal, and is refused where there is none.
func (f aheadFlags) watched(a *app, asJSON bool) (run.Ahead, error) {
	out, err := f.ahead()
	f.warn(a)
	out.OnAsk = permission.OnAskRefuse
	if a.attended(asJSON) {
		out.OnAsk, out.Attended = permission.OnAskPark, true
	}
	return out, err
}

// attended reports whether somebody sits at the terminal who can be asked: who can see
// the question and answer it.
func (a *app) attended(asJSON bool) bool {
	return a.inTTY && (a.errStyle.Columns > 0 || a.outStyle.Columns > 0 && !asJSON)
}
