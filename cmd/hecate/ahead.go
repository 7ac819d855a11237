package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
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
		if _, err := pattern.Parse(text); err != nil {
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

// watched is what the flags say about a run that is followed here: what asks waits for
// the person at the terminal, and is refused where there is none.
func (f aheadFlags) watched(a *app, asJSON bool) (run.Ahead, error) {
	out, err := f.ahead()
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
