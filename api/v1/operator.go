package v1

import (
	"context"
	"fmt"
	"net/http"

	"hecate/api/auth"
	"hecate/api/envelope"
	"hecate/api/request"
)

// Proof says when somebody who decides must be a verified operator.
type Proof string

// The settings of HECATE_OPERATOR_TOKEN_REQUIRED.
const (
	ProofAuto   Proof = "auto"   // when something that an agent started may reach this server
	ProofAlways Proof = "always" // always
	ProofNever  Proof = "never"  // never: whoever reaches the API may decide
)

// Valid reports whether p is one of the settings.
func (p Proof) Valid() bool { return p == ProofAuto || p == ProofAlways || p == ProofNever }

// confining is the sandbox that keeps a command without network from this server.
const confining = "bwrap"

// mustDecide returns an error unless the caller may do what an agent must never do for
// itself: answer approvals, give answers in advance, change policies and permission
// files. network is whether what is decided on will have the network.
//
// The API can be reached over loopback, and a command that is not confined, or that
// has the network, reaches loopback like its operator does, whatever its own task is
// about. As long as such a command may run, a request proves nothing without a token.
func (a *API) mustDecide(ctx context.Context, network bool) error {
	if a.Proof == ProofNever || request.From(ctx).Verified() {
		return nil
	}
	switch {
	case a.Proof == ProofAlways:
		return notProved("this server takes decisions from verified operators only")
	case a.Host.Sandbox != confining:
		return notProved("commands that agents start are not kept from this server")
	case network:
		return notProved("the task has the network, so its commands can reach this server")
	}
	reachable, err := a.reachable(ctx)
	if err != nil {
		return fmt.Errorf("find out whether a command can reach this server: %w", err)
	}
	if reachable {
		return notProved("commands of a run with network may be able to reach this server")
	}
	return nil
}

// reachable reports whether a command with network may be running. When in doubt it says yes.
func (a *API) reachable(ctx context.Context) (bool, error) {
	head, err := a.Commands.Store.Head(ctx)
	if err != nil {
		return true, err
	}
	// Whatever such a command sends, its run is in the log before it.
	if !a.ready(ctx, head) {
		return true, nil
	}
	open, err := a.Views.NetworkOpen(ctx)
	if err != nil || open {
		return true, err
	}
	return a.ends.recent(ctx, head)
}

func notProved(why string) error {
	return envelope.New(http.StatusForbidden, envelope.TypeForbidden, why+": send the header "+auth.OperatorHeader+
		" with an operator's token, such as the one in the file operator.token of the server's data directory; `hecate approve` on the server's machine does it by itself")
}
