package permission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hecate/domain/permission/pattern"
)

// Lock is a name that calls take turns by: of all calls that one of its patterns
// covers, one runs at a time. It allows nothing and forbids nothing.
type Lock struct {
	Name     string
	Patterns []pattern.Pattern // never empty
	Layer    Layer
	At       string // file and line, for messages
}

// LockText is one lock as it stands in a file.
type LockText struct {
	Name     string
	Patterns []Text
	At       string
}

// lockName is what a lock may be called.
var lockName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// listLocks names locks in problems.
const listLocks = "locks"

// LocksFor returns the names of all locks that a call must hold, sorted and each once.
// A lock is about a call when one of its patterns covers it, as in a list that
// approves: the reach that a deny has would make calls wait that have nothing to do
// with each other. Ending a job takes none: it would wait for what the job holds.
// Source: permission text, "Permissions" and "The prompt".
func (c Config) LocksFor(tool string, f Facts) []string {
	if pattern.Canonical(tool) == "job_kill" {
		return nil
	}
	var names []string
	for _, l := range c.Locks {
		if slices.ContainsFunc(l.Patterns, func(p pattern.Pattern) bool { return p.Covers(tool, f) }) {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// locks understands the locks of a file. One that could not do what it says is left
// out whole: half a lock looks like protection and is none.
func (l *loader) locks(layer Layer, texts []LockText) {
	for _, t := range texts {
		lock := Lock{Name: t.Name, Layer: layer, At: t.At}
		at := Entry{List: listLocks, Layer: layer, At: t.At}
		switch {
		case !lockName.MatchString(t.Name):
			l.report(at, true, fmt.Sprintf("lock %q: a name has 1 to 64 letters, digits, dots, _ and -", shorten(t.Name)))
			continue
		case len(t.Patterns) == 0:
			l.report(at, true, fmt.Sprintf(`lock %s has no patterns; write patterns = ["exec(make) args(*)"]`, t.Name))
			continue
		}
		usable := true
		for _, text := range t.Patterns {
			p, warning, err := lockPattern(text.Text)
			at.At = text.At
			switch {
			case err != nil:
				usable = false
				l.report(at, true, fmt.Sprintf("lock %s: %v", t.Name, err))
			case warning != "":
				l.report(at, false, fmt.Sprintf("lock %s: %s", t.Name, warning))
			}
			lock.Patterns = append(lock.Patterns, p)
		}
		if usable {
			l.config.Locks = append(l.config.Locks, lock)
		}
	}
}

// lockPattern reads a pattern that covers something, so that it can hold calls back.
func lockPattern(text string) (p pattern.Pattern, warning string, err error) {
	if p, err = pattern.Parse(text); err != nil {
		return p, "", err
	}
	if warning, err = p.ForApprove(); err != nil && p.Tool() == toolFetch {
		err = fmt.Errorf("%s covers no call; write %s alone for every fetch", p, toolFetch)
	}
	if !strings.Contains(p.String(), "*") {
		warning = "" // the others are about what an entry approves
	}
	return p, warning, err
}
