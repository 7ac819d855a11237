package logkey

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/fault"
)

// ReasonMax is how many characters a reason has at most.
const ReasonMax = 500

// State is what the log says about its keys.
type State struct {
	Keys []string // public, in the order in which they signed; none if the first one was never changed
}

// Apply folds one event.
func (s *State) Apply(e event.Event) {
	switch p := e.Payload.(type) {
	case Rotated:
		s.follow(p.Old, p.New)
	case Replaced:
		s.follow(p.Old, p.New)
	}
}

func (s *State) follow(old, next string) {
	if len(s.Keys) == 0 {
		s.Keys = append(s.Keys, old)
	}
	s.Keys = append(s.Keys, next)
}

// Rotate changes the key for one that it vouches for itself.
func Rotate(s State, r Rotated) ([]event.Payload, error) {
	if r.Statement == "" {
		return nil, fault.Invalid("statement_missing", "the old key has signed no statement that names the next one")
	}
	var err error
	if r.Reason, err = reason(r.Reason); err != nil {
		return nil, err
	}
	return change(s, r.Old, r.New, r)
}

// Replace changes a key that is lost. It needs a reason, for whoever verifies the log later.
func Replace(s State, r Replaced) ([]event.Payload, error) {
	var err error
	if r.Reason, err = reason(r.Reason); err != nil {
		return nil, err
	}
	if r.Reason == "" {
		return nil, fault.Invalid("reason_missing", "say why the key is replaced: nobody else vouches for the new one")
	}
	return change(s, r.Old, r.New, r)
}

// change records what comes after the key in force; a change that was made already leaves no event.
func change(s State, old, next string, p event.Payload) ([]event.Payload, error) {
	if n := len(s.Keys); n > 0 {
		if s.Keys[n-1] == next && s.Keys[n-2] == old {
			return nil, nil
		}
		if s.Keys[n-1] != old {
			return nil, fault.Conflict("key_changed", "the key of the log is another one by now: %s", s.Keys[n-1])
		}
	}
	if next == "" || old == "" || next == old || slices.Contains(s.Keys, next) {
		return nil, fault.Invalid("key_used", "the next key of the log must be one that it never had")
	}
	return []event.Payload{p}, nil
}

// reason cleans what an operator says into one line.
func reason(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > ReasonMax {
		return "", fault.Invalid("reason_invalid", "a reason is text of at most %d characters", ReasonMax)
	}
	return text, nil
}
