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
	for len(answers) < len(prompts) {
		by, ok := covering(prompts, answers, prompts[len(answers)], covers)
		if !ok {
			break
		}
		answers = append(answers, by)
	}
	return answers
}

// covering is the answer to a call that follows from what was given before.
func covering(prompts []show.Prompt, answers []Answer, p show.Prompt, covers Covers) (Answer, bool) {
	for i, a := range answers {
		if covers != nil && a.gives() && prompts[i].Offer != nil && covers(*prompts[i].Offer, p) {
			return Answer{CoveredBy: prompts[i].Call.ID}, true
		}
	}
	return Answer{}, false
}

// Current is the prompt that is answered next. It says what was answered before it, what
// of the rest is covered by that, and what its own offer would cover.
func Current(prompts []show.Prompt, answers []Answer, covers Covers) show.Prompt {
	p := prompts[len(answers)]
	p.Others, p.Also = slices.Clone(p.Others), nil
	for k, other := range prompts {
		said := answers[:min(k+1, len(answers))]
		if k > len(answers) {
			by, ok := covering(prompts, answers, other, covers)
			if !ok {
				if covers != nil && p.Offer != nil && covers(*p.Offer, other) {
					p.Also = append(p.Also, other.Number)
				}
				continue
			}
			said = append(slices.Clone(answers), by)
		}
		if at := slices.IndexFunc(p.Others, func(o show.Other) bool { return o.ID == other.Call.ID }); at >= 0 {
			p.Others[at].Remark = Said(prompts, said)
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
