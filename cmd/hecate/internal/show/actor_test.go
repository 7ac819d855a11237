package show_test

import (
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
)

// An answer and the event that records it are told in the same words, however much is known.
func TestWhoAnswered(t *testing.T) {
	yes, no := true, false
	for want, c := range map[string]struct {
		actor client.Actor
		by    client.AnsweredBy
	}{
		"ada, proved by a token":          {client.Actor{Kind: "operator", Name: "ada", Verified: &yes}, client.AnsweredBy{By: "operator", Name: "ada", Verified: true}},
		"ada, not proved by a token":      {client.Actor{Kind: "client", Name: "ada", Verified: &no}, client.AnsweredBy{By: "operator", Name: "ada"}},
		"somebody, not proved by a token": {client.Actor{Kind: "client", Verified: &no}, client.AnsweredBy{By: "operator"}},
		"system":                          {client.Actor{Kind: "system"}, client.AnsweredBy{By: "system"}},
	} {
		if got := show.ActorWords(c.actor); got != want {
			t.Errorf("the event is by %q, want %q", got, want)
		}
		if got := show.Answerer(c.by); got != want {
			t.Errorf("the answer is by %q, want %q", got, want)
		}
	}
}
