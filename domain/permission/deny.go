package permission

import (
	"slices"
	"strings"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Denial is one deny entry that matches a call.
type Denial struct {
	ID     string `json:"id"`
	List   string `json:"list"` // permissions.deny or network.deny
	Layer  Layer  `json:"layer"`
	Entry  string `json:"entry"` // the pattern or the host
	Reason string `json:"reason,omitempty"`
	At     string `json:"at,omitempty"`
}

// Denied lists every deny entry that matches a call of the tool, user entries before
// project entries, so that a broad one does not hide narrower guidance. Tools that
// look through many files ask it about each: grep and glob leave out what view denies.
// Source: permission text, "Persistent denial guidance".
func (c Config) Denied(tool string, f Facts) []Denial {
	var out []Denial
	u, isURL := urlOf(tool, f)
	for _, e := range c.Entries {
		switch e.List {
		case ListDeny:
			if !e.Pattern.Reaches(tool, f) {
				continue
			}
		case ListHostDeny:
			if !isURL || !u.DeniedBy(e.Host) {
				continue
			}
		default:
			continue
		}
		out = append(out, Denial{e.ID, e.List, e.Layer, e.Text(), e.Reason, e.At})
	}
	return out
}

// unclear reports whether some deny entry cannot be judged for the call.
func (c Config) unclear(tool string, f Facts) bool {
	return slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.unclear(tool, f) })
}

func (e Entry) unclear(tool string, f Facts) bool {
	switch e.List {
	case ListDeny:
		return e.Pattern.Unclear(tool, f)
	case ListHostDeny:
		return NamesURL(tool) && f.Principal == ""
	}
	return false
}

// NamesURL reports whether the principal of a tool's calls is a URL.
func NamesURL(tool string) bool {
	name := pattern.Canonical(tool)
	return slices.Contains(urlTools, name) || strings.HasPrefix(name, "browser_")
}

// urlOf is the URL that a call is about.
func urlOf(tool string, f Facts) (host.URL, bool) {
	if !NamesURL(tool) {
		return host.URL{}, false
	}
	u, err := host.ParseURL(f.Principal, f.ASCIIHost)
	return u, err == nil
}
