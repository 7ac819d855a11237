package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"hecate/api/envelope"
	"hecate/api/request"
	"hecate/eventstore"
)

// Headers that say who asks.
const (
	OperatorHeader = "X-Hecate-Operator-Token" // an operator's own token: proves the name
	ActorHeader    = "X-Hecate-Actor"          // a name that nothing proves
)

// RuntimeTokenName is the name of an actor that proved itself with the runtime token,
// which does not tell its holders apart.
const RuntimeTokenName = "runtime-token"

// NameMax bounds the name of an operator or of an actor, in bytes.
const NameMax = 64

// Operators knows who has which token. It is safe for concurrent use.
type Operators interface {
	// Operator returns the name of the operator whose token this is, "" if it is nobody's.
	// How long that takes must tell nothing about the tokens.
	Operator(token string) string
}

// SaneName reports whether a name may be recorded and shown: 1 to NameMax ASCII
// letters, digits and the characters . _ @ -
func SaneName(name string) bool {
	if name == "" || len(name) > NameMax {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("._@-", r)
	})
}

// actor finds out who asks. A token that proves nothing is an error, not a missing
// one: whoever sends it believes to be somebody.
func (g *Guard) actor(r *http.Request) (eventstore.Actor, *envelope.Error) {
	actor := eventstore.Actor{Kind: request.KindClient}
	if g.hasToken {
		given := sha256.Sum256([]byte(r.Header.Get(TokenHeader)))
		if subtle.ConstantTimeCompare(given[:], g.token[:]) != 1 {
			return actor, envelope.New(http.StatusUnauthorized, envelope.TypeUnauthorized, "the "+TokenHeader+" header is missing or wrong")
		}
		actor = eventstore.Actor{Kind: request.KindOperator, Name: RuntimeTokenName}
	}
	if tokens, given := r.Header[OperatorHeader]; given {
		name := ""
		if len(tokens) == 1 && tokens[0] != "" && g.operators != nil {
			name = g.operators.Operator(tokens[0])
		}
		if name == "" {
			return actor, unknownOperator()
		}
		return eventstore.Actor{Kind: request.KindOperator, Name: name}, nil
	}
	if claims, given := r.Header[ActorHeader]; given && actor.Kind == request.KindClient {
		if len(claims) != 1 || !SaneName(claims[0]) {
			return actor, envelope.New(http.StatusBadRequest, envelope.TypeInvalid, ActorHeader+" must be one name of 1 to 64 letters, digits or . _ @ -")
		}
		actor.Name = claims[0]
	}
	return actor, nil
}

// unknownOperator does not repeat the token: what was sent may be a secret of another server.
func unknownOperator() *envelope.Error {
	e := envelope.New(http.StatusUnauthorized, envelope.TypeUnauthorized, "the "+OperatorHeader+" header holds no token of an operator of this server")
	e.Body.OperatorAction = "look who has one: hecate operators; make another: hecate operators add NAME; " +
		"the command line takes it from HECATE_OPERATOR_TOKEN, else from operator.token in the server's data directory"
	return e
}
