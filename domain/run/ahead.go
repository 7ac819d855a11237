package run

import (
	"path/filepath"

	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
)

// Ahead is what whoever opens a run decides about its questions before there are any.
// It is frozen in the run's first event and no later run inherits it.
type Ahead struct {
	OnAsk         permission.OnAsk `json:"on_ask,omitempty"`         // park or refuse; "" is park
	Attended      bool             `json:"attended,omitempty"`       // somebody watches the run who can answer at once
	AllowTools    []string         `json:"allow_tools,omitempty"`    // patterns, see package pattern
	Yes           bool             `json:"yes,omitempty"`            // what level 2 and the server's policies ask about is approved
	YesReally     bool             `json:"yes_really,omitempty"`     // and https hosts that nobody listed
	ProjectConfig string           `json:"project_config,omitempty"` // absolute path of the file that counts instead of the project's
}

// allowToolsMax is how many patterns a run can be opened with.
const allowToolsMax = 256

// Check returns a fault that names what cannot be.
func (a Ahead) Check() error {
	switch a.OnAsk {
	case "", permission.OnAskPark, permission.OnAskRefuse:
	default:
		return fault.Invalid("invalid_request", "unknown on_ask %q: use park or refuse", a.OnAsk)
	}
	if len(a.AllowTools) > allowToolsMax {
		return fault.Invalid("invalid_request", "allow_tools has %d patterns, at most %d are allowed", len(a.AllowTools), allowToolsMax)
	}
	for _, text := range a.AllowTools {
		p, err := pattern.Parse(text)
		if err == nil && !p.Bare() {
			_, err = p.ForApprove() // what it could cover nothing by is a mistake
		}
		if err != nil {
			return fault.Invalid("invalid_request", "allow_tools: %s", err)
		}
	}
	if a.ProjectConfig != "" && !filepath.IsAbs(a.ProjectConfig) {
		return fault.Invalid("invalid_request", "project_config must be an absolute path")
	}
	return nil
}

// Gives reports whether a opens anything that would otherwise ask, or names what does:
// only somebody who may answer approvals may open a run so.
func (a Ahead) Gives() bool {
	return len(a.AllowTools) > 0 || a.Yes || a.YesReally || a.ProjectConfig != "" || a.Attended
}

// flags are the answers in the form that decisions look at.
func (a Ahead) flags() permission.Flags {
	f := permission.Flags{Yes: a.Yes, YesReally: a.YesReally}
	for _, text := range a.AllowTools {
		if p, err := pattern.Parse(text); err == nil {
			f.AllowTools = append(f.AllowTools, p)
		}
	}
	return f
}
