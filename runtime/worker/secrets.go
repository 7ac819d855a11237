package worker

import (
	"slices"
	"strings"
	"sync"

	"hecate/domain/event"
	"hecate/domain/run"
)

// withhold returns an event as the log will have it, so that the model is told what the log
// says, and what is done is what it says. What was withheld where the output of the call was
// whole is said of each event that has the marker.
func (a *attempt) withhold(e event.Event) event.Event {
	secrets, lacks := a.Executor.Secrets, a.lacks.names()
	if secrets == nil || len(lacks) == 0 {
		return a.Executor.Withhold(e)
	}
	return e.Without(func(text string) (string, []string) {
		out, names := secrets.Withhold(text)
		return out, append(names, secrets.Marked(out, lacks)...)
	})
}

// lacks are the names of secrets that a tool has withheld from its output.
type lacks struct {
	mu   sync.Mutex
	list []string
}

func (l *lacks) add(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range names {
		if !slices.Contains(l.list, n) {
			l.list = append(l.list, n)
		}
	}
}

func (l *lacks) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *lacks) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// secretsNamed are the secrets that the text of a call names.
func (a *attempt) secretsNamed(c run.ToolCall) []string {
	if a.Executor.Secrets == nil {
		return nil
	}
	return a.Executor.Secrets.Named(unescaped.Replace(c.Arguments.String()))
}

// unescaped keeps what stands for the end of a line in JSON from being a part of a word.
var unescaped = strings.NewReplacer(`\\n`, " ", `\\t`, " ", `\\r`, " ", `\n`, " ", `\t`, " ", `\r`, " ")
