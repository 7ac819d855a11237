package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// The kinds of wrapper.
const (
	WrapperNone        = "none"
	WrapperBwrap       = "bwrap"
	WrapperSandboxExec = "sandbox-exec"
)

// Wrapper is the program through which the operating system holds commands to what they
// may do. The zero Wrapper is none.
type Wrapper struct {
	Kind   string
	Path   string // of the program
	Reason string // why there is none, or what it cannot do here; "" if it does all
	// Online says that it cannot take the network from a command.
	Online bool
}

// Holds reports whether the operating system keeps a command from what it may not do: from
// changing files anywhere if it is read-only, and from the network unless it may use it.
// The error is a *Denied that says what is missing; strict tells whether what only the
// static checks are there for counts as missing too.
//
// A command that may change nothing is never left to the static checks: whatever has an
// interpreter gets past them. One without network is, unless strict, as the sandbox text
// has it.
func (w Wrapper) Holds(readOnly, network, strict bool) error {
	none := w.Kind == "" || w.Kind == WrapperNone
	switch {
	case readOnly && none:
		return w.missing("keeps a command from changing files, so a read-only task runs none")
	case strict && none:
		return w.missing("holds a command to its workspace, which HECATE_TASK_SANDBOX=required demands")
	case strict && !network && w.Online:
		return w.missing("takes the network from a command, which HECATE_TASK_SANDBOX=required demands")
	}
	return nil
}

func (w Wrapper) missing(what string) error {
	why := ""
	if w.Reason != "" {
		why = " (" + w.Reason + ")"
	}
	return &Denied{fmt.Sprintf("nothing on this machine %s%s; `hecate doctor` says more", what, why)}
}

// Confine is what a wrapped command may touch.
type Confine struct {
	Root     string   // the workspace, absolute: the only directory that can be written
	Dir      string   // where the command begins
	ReadOnly bool     // not even the workspace can be written
	Network  bool     // without it there is only a loopback of its own
	Hidden   []string // directories that look empty, such as the server's data
	Cache    string   // a directory for caches of build tools, which can be written; "" for none
	Set      []string // NAME=VALUE for the command alone: in the wrapper's own environment they could change what that does
	TTY      bool     // the command has a terminal device, and with it a session, of its own
}

// Wrap returns argv as it is run by the wrapper; of the zero Wrapper as it is, and then
// nothing of c holds.
func (w Wrapper) Wrap(argv []string, c Confine) []string {
	switch w.Kind {
	case WrapperBwrap:
		c.Network = c.Network || w.Online
		return w.bwrap(argv, c)
	case WrapperSandboxExec:
		return w.sandboxExec(argv, c)
	}
	return argv
}

// real is a path with links followed; of one that is not there, as it is.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// below reports whether path is dir or lies in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
