package dialog

import (
	"slices"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// Answer is what a person says to one call.
type Answer struct {
	Key   string // one of permission.AnswerOnce and so on, but not AnswerEdit; "" if CoveredBy says it all
	Scope string // of an answer for more than once: what it is for, if that was edited
	Note  string // of permission.AnswerDenyReason
	// CoveredBy is the call whose answer for more than once covers this one, so that
	// nobody was asked about it.
	CoveredBy string
}

// Covers reports whether an offer, once it is given, lets a call run for certain.
type Covers func(o permission.Offer, p show.Prompt) bool

// gives reports whether the answer gives something for more than its call.
func (a Answer) gives() bool {
	return a.Key == permission.AnswerSession || a.Key == permission.AnswerRemember
}

// Follow adds the answers to the next calls that follow from those that were given. The
// offers of prompts are those that were taken, as they were edited.
func Follow(prompts []show.Prompt, answers []Answer, covers Covers) []Answer {
	for covers != nil && len(answers) < len(prompts) {
		by := covering(prompts, answers, covers)
		if by == "" {
			break
		}
		answers = append(answers, Answer{CoveredBy: by})
	}
	return answers
}

// covering is the call that something was given with that covers the next one; "" if
// there is none.
func covering(prompts []show.Prompt, answers []Answer, covers Covers) string {
	for i, a := range answers {
		if a.gives() && prompts[i].Offer != nil && covers(*prompts[i].Offer, prompts[len(answers)]) {
			return prompts[i].Call.ID
		}
	}
	return ""
}

// Current is the prompt that is answered next, with what was answered before it and
// what its offer would answer after it.
func Current(prompts []show.Prompt, answers []Answer, covers Covers) show.Prompt {
	p := prompts[len(answers)]
	p.Others, p.Also = slices.Clone(p.Others), nil
	for i := range p.Others {
		for k := range answers {
			if prompts[k].Call.ID == p.Others[i].ID {
				p.Others[i].Remark = Said(prompts, answers[:k+1])
			}
		}
	}
	if p.Offer == nil || covers == nil {
		return p
	}
	for _, later := range prompts[len(answers)+1:] {
		if covers(*p.Offer, later) {
			p.Also = append(p.Also, later.Number)
		}
	}
	return p
}

// Said is the last answer in words.
func Said(prompts []show.Prompt, answers []Answer) string {
	last := len(answers) - 1
	a := answers[last]
	scope := func(p show.Prompt, a Answer) string {
		switch {
		case a.Scope != "":
			return terminal.Exact(a.Scope)
		case p.Offer != nil:
			return terminal.Exact(p.Offer.Scope)
		}
		return ""
	}
	switch a.Key {
	case permission.AnswerOnce:
		return "y: this call only"
	case permission.AnswerSession:
		return "a: this session, " + scope(prompts[last], a)
	case permission.AnswerRemember:
		return "A: remember " + scope(prompts[last], a)
	case permission.AnswerDenyReason:
		return "N: denied, " + terminal.Line(a.Note)
	case permission.AnswerDeny:
		return "n: denied"
	}
	for i, p := range prompts[:last] {
		if p.Call.ID == a.CoveredBy {
			return "covered by " + scope(p, answers[i])
		}
	}
	return "covered"
}
