package show

import (
	"fmt"
	"strings"
	"time"
)

// troubles says what is wrong with a provider, by the kind of the failure.
var troubles = map[string]string{
	"overloaded":        "is overloaded",
	"rate_limited":      "asks for fewer requests",
	"unreachable":       "cannot be reached",
	"incomplete_stream": "broke off its answer",
	"invalid_response":  "sent an answer that makes no sense",
}

// trouble says which provider failed, and why.
func (d modelCall) trouble() string {
	who := d.Provider
	if who == "" {
		who = "the provider"
	}
	if what, known := troubles[d.Kind]; known {
		return who + " " + what
	}
	return strings.TrimSpace(who + " failed: " + strings.ReplaceAll(d.Kind, "_", " "))
}

func (d modelCall) wait() time.Duration { return time.Duration(d.WaitMS) * time.Millisecond }

// next says when and where the next attempt is made.
func (d modelCall) next() string {
	if d.WaitMS <= 0 {
		return "next attempt at once" + d.elsewhere()
	}
	return "next attempt in " + Duration(d.wait()) + d.elsewhere()
}

// elsewhere names who is asked next if that is somebody else.
func (d modelCall) elsewhere() string {
	switch {
	case d.NextAt != "" && d.NextAt != d.Provider:
		return " at " + d.NextAt
	case d.NextModel != "" && d.NextModel != d.Model:
		return " with " + d.NextModel
	}
	return ""
}

// chain says what a run goes on from.
func (d lifecycle) chain() string {
	text := "goes on from " + d.FromRun
	switch {
	case d.FromCall > 0:
		text = fmt.Sprintf("makes model call %d of %s again", d.FromCall, d.FromRun)
	case d.Reason == reasonPrompt:
		text = "continues the conversation of " + d.FromRun
	}
	if d.Reason != "" && d.Reason != reasonPrompt {
		text += " (" + d.Reason + ")"
	}
	if d.Prior > 0 {
		text += "; spent before: " + dollars(d.Prior)
	}
	return text
}

// reasonPrompt is the reason of a run that was opened with a new prompt.
const reasonPrompt = "session_prompt"

// actionWaiting is what follows a gap if nobody can go on for the time being.
const actionWaiting = "waiting"

// gap says why nobody executed the run for a while, and how it goes on.
func (d lifecycle) gap() string {
	if d.Action == actionWaiting {
		if d.Message != "" {
			return d.Message
		}
		return "no worker reaches the run's workspace; it waits for one"
	}
	text := "the worker vanished (" + d.Reason + ")"
	if d.Message != "" {
		text += ": " + d.Message
	}
	return text + "; the run goes on from its log"
}

// stated says what an operator found out about a call.
func (d toolCall) stated() string {
	text := "it did not take effect"
	if d.Done {
		text = "it took effect"
	}
	if d.By != "" {
		text += ", says " + d.By
	}
	if note := d.Note.String(); note != "" {
		text += ": " + note
	}
	return text
}
