package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/dialog"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// entry is what a typed line is for.
type entry int

const (
	entryChoice  entry = iota
	entryPattern       // the edited offer
	entryReason        // why a call is denied
)

// answerEnd refuses all and ends the run; only lines can say it.
const answerEnd = "q"

// current is the call that is asked about.
func (k *asking) current() *show.Prompt { return &k.prompts[len(k.answers)] }

// askLine shows the next call in full and asks for an answer.
func (f *follower) askLine() {
	k := f.open
	k.edited = false
	p := dialog.Current(k.prompts, k.answers, covers)
	k.question.WriteCall(f.ask, f.asks, p)
	if !p.Ends {
		fmt.Fprintf(f.ask, "    %s  refuse, and end the run\n", answerEnd)
	}
	f.choice("\n")
}

// choice says something and asks which of the answers it is. All of it comes after what
// was typed before is forgotten, so that who has read it is heard.
func (f *follower) choice(say string) {
	f.open.entry = entryChoice
	keys := choices(*f.open.current())
	last := len(keys) - 1
	f.typed.ask(f.ask, say+f.asks.Bold(fmt.Sprintf("  approve? %s or %s: ", strings.Join(keys[:last], ", "), keys[last])))
}

// choices are what can be typed.
func choices(p show.Prompt) []string {
	keys := slices.Clone(p.Answers())
	if !p.Ends {
		keys = append(keys, answerEnd)
	}
	return keys
}

// answered handles a line that was typed.
func (f *follower) answered(ctx context.Context, l typedLine) error {
	k := f.open
	switch {
	case k == nil:
		return nil // typed while nothing was asked
	case l.ended:
		f.drop()
		f.typed = nil
		return f.unanswered(ctx, k.question)
	case l.stale:
		f.unclear()
	case k.entry == entryPattern:
		f.editLine(l.text)
	case k.entry == entryReason:
		if reason := strings.TrimSpace(l.text); reason != "" {
			f.answer(ctx, dialog.Answer{Key: permission.AnswerDenyReason, Note: reason})
			return nil
		}
		f.choice("  no reason was given; n denies without one.\n")
	default:
		f.chosen(ctx, parseAnswer(l.text, choices(*k.current())))
	}
	return nil
}

// unclear asks once more: there is no default, and a slip of the finger is no answer.
func (f *follower) unclear() {
	f.choice(fmt.Sprintf("  please type one of %s.\n", strings.Join(choices(*f.open.current()), " ")))
}

func (f *follower) chosen(ctx context.Context, key string) {
	k := f.open
	p := k.current()
	switch key {
	case "":
		f.unclear()
	case answerEnd:
		f.open = nil
		k.answers = nil
		f.result.Rejected = true
		if err := f.resolve(ctx, k.question, client.Answer{Decision: client.Reject}); err != nil {
			f.notTaken(k.question, err)
		}
	case permission.AnswerEdit:
		k.entry = entryPattern
		f.typed.ask(f.ask, fmt.Sprintf("  in place of %s: ", terminal.Exact(p.Offer.Scope)))
	case permission.AnswerDenyReason:
		k.entry = entryReason
		f.typed.ask(f.ask, "  what the model is told: ")
	default:
		a := dialog.Answer{Key: key}
		if k.edited && (key == permission.AnswerSession || key == permission.AnswerRemember) {
			a.Scope = p.Offer.Scope
		}
		f.answer(ctx, a)
	}
}

// editLine takes the edited offer, and shows what it covers.
func (f *follower) editLine(text string) {
	p := f.open.current()
	if text = strings.TrimSpace(text); text == "" {
		f.choice("")
		return
	}
	offer, err := editOffer(*p, text)
	if err != nil {
		f.choice(fmt.Sprintf("  it stays as it was: %s\n", terminal.Line(err.Error())))
		return
	}
	p.Offer, f.open.edited = &offer, true
	var say strings.Builder
	current := dialog.Current(f.open.prompts, f.open.answers, covers)
	for _, r := range show.Rows(current.Scope(), max(f.asks.Columns-4, 0)) {
		say.WriteString("    " + r.Weight.Paint(f.asks, r.Text) + "\n")
	}
	f.choice(say.String())
}

// answer takes an answer and goes on to the next call, or sends them all.
func (f *follower) answer(ctx context.Context, a dialog.Answer) {
	k := f.open
	before := len(k.answers) + 1
	k.answers = dialog.Follow(k.prompts, append(k.answers, a), covers)
	for n := before + 1; n <= len(k.answers); n++ {
		f.sayAnswer(k.prompts, k.answers[:n])
	}
	if len(k.answers) < len(k.prompts) {
		f.askLine()
		return
	}
	f.open = nil
	f.send(ctx, k)
}

// sayAnswer writes a call and what was said to it, which is the last of the answers.
func (f *follower) sayAnswer(prompts []show.Prompt, answers []dialog.Answer) {
	fmt.Fprintln(f.ask, f.asks.Row(f.asks.Yellow("?")+" "+prompts[len(answers)-1].Summary(), dialog.Said(prompts, answers)))
}

// parseAnswer takes whole words only, and only those that are offered; "" for anything
// else. A letter counts as it is written: a and A are two answers.
func parseAnswer(line string, offered []string) string {
	word := strings.TrimSpace(line)
	switch strings.ToLower(word) {
	case "yes":
		word = permission.AnswerOnce
	case "no":
		word = permission.AnswerDeny
	}
	if slices.Contains(offered, word) {
		return word
	}
	return ""
}
