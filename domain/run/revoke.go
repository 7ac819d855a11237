package run

import (
	"hecate/domain/event"
	"hecate/domain/fault"
)

// Revoke ends a grant that was given for the session, whether the run goes on or has
// ended: runs that go on from it do not have the grant. One that the session does not
// have is a not-found fault.
func Revoke(s *State, grantID string) ([]event.Payload, error) {
	for _, g := range s.Session {
		if g.ID == grantID {
			return []event.Payload{PermissionRevoked{GrantID: g.ID, Scope: g.Scope, By: "operator"}}, nil
		}
	}
	return nil, fault.NotFound("not_found", "the session of the task's latest run has no grant %q", grantID)
}
