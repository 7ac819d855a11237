package main

import (
	"fmt"
	"runtime/debug"
)

// version names this build: the module's version if it has one, else the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "hecate (unknown build)"
	}
	name := info.Main.Version
	if name == "" || name == "(devel)" {
		name = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				name += "-" + s.Value[:12]
			}
		}
	}
	return "hecate " + name
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(a *app) error {
	_, err := fmt.Fprintln(a.out, version())
	return err
}
