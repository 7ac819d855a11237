package show

import (
	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// ActorWords is who caused an event, and whether a token proved it.
func ActorWords(a client.Actor) string {
	if a.Verified == nil {
		return ActorName(a)
	}
	return somebody(a.Name, *a.Verified)
}

// Answerer is who answered an approval, and whether a token proved it. The answer itself
// calls every person an operator.
func Answerer(by client.AnsweredBy) string {
	if by.Name == "" && by.By != "operator" {
		return terminal.Line(by.By)
	}
	return somebody(by.Name, by.Verified)
}

func somebody(name string, proved bool) string {
	if name == "" {
		name = "somebody"
	}
	if proved {
		return terminal.Line(name) + ", proved by a token"
	}
	return terminal.Line(name) + ", not proved by a token"
}
