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
// approved for the tool. For tools that are not known here the server has the last word.
func editOffer(p show.Prompt, text string) (permission.Offer, error) {
	facts, known := factsOf(p)
	if known {
		out, err := permission.Edited(permission.Call{Tool: p.Call.Tool, Facts: facts}, text)
		if err == nil && p.Offer != nil && out.Scope == p.Offer.Scope {
			out = *p.Offer // the server knows more about what it covers
		}
		return out, err
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

// covers reports whether an offer that is given lets a call run, as far as can be told
// here. Nothing does for a call that something cannot be given for. The server decides
// about the call once more: if it sees more than can be seen here, it asks again.
func covers(o permission.Offer, p show.Prompt) bool {
	switch {
	case p.Ends || p.Offer == nil || o.IsHost != p.Offer.IsHost:
		return false
	case o.IsHost:
		return o.Scope == p.Offer.Scope
	}
	facts, known := factsOf(p)
	x, err := pattern.Parse(o.Scope)
	return known && err == nil && x.Covers(p.Call.Tool, facts)
}

// factsOf reads a call as its tool would, without a look at any file.
func factsOf(p show.Prompt) (permission.Facts, bool) {
	for _, t := range builtin.All() {
		if t.Name != p.Call.Tool {
			continue
		}
		prepared, err := t.Prepare(p.Call.Input)
		if err != nil || prepared.Facts == nil {
			return permission.Facts{}, false
		}
		return prepared.Facts(tools.Place{Path: p.Where.Path, Offline: true}), true
	}
	return permission.Facts{}, false
}
