package main

import (
	"fmt"

	"hecate/cmd/hecate/internal/show"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/tools"
	"hecate/tools/builtin"
)

// editOffer turns what somebody made of an offer into the new one: something that may be
// approved and that covers the call. For tools that are not known here the server has
// the last word.
func editOffer(p show.Prompt, text string) (permission.Offer, error) {
	facts, known := factsOf(p.Call)
	if known {
		return permission.Edited(permission.Call{Tool: p.Call.Tool, Facts: facts}, text)
	}
	x, err := pattern.Parse(text)
	if err == nil {
		_, err = x.ForApprove()
	}
	if err == nil && x.Tool() != pattern.Canonical(p.Call.Tool) {
		err = fmt.Errorf("it is about %s, not about %s", x.Tool(), pattern.Canonical(p.Call.Tool))
	}
	if err != nil {
		return permission.Offer{}, err
	}
	return permission.Offer{Scope: x.String(), Covers: x.Meaning(), List: permission.ListPromoted}, nil
}

// factsOf reads a call as its tool would, without a look at any file.
func factsOf(c show.Call) (permission.Facts, bool) {
	for _, t := range builtin.All() {
		if t.Name != c.Tool {
			continue
		}
		prepared, err := t.Prepare(c.Input)
		if err != nil || prepared.Facts == nil {
			return permission.Facts{}, false
		}
		return prepared.Facts(tools.Place{Offline: true}), true
	}
	return permission.Facts{}, false
}
