package worker

import (
	"hecate/domain/permission"
	"hecate/tools/egress"
)

// deniedURL says which deny entries keep a redirect of a tool's call from being followed,
// by what the files say when the call begins; nil if there are none.
func (a *attempt) deniedURL(tool string) egress.Denied {
	if a.Permissions == nil {
		return nil
	}
	config := a.Permissions.For(a.project())
	if len(config.Entries) == 0 {
		return nil
	}
	return func(url, asciiHost string) string {
		return permission.DeniedByConfig(config.Denied(tool, permission.Facts{Principal: url, ASCIIHost: asciiHost}))
	}
}
