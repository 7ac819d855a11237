package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
)

// Where is the place that the calls of a run work in, as far as it is known.
type Where struct {
	run.Place        // without a kind, a copy if it mirrors something
	Home      string // of the person, written as ~ before files; "" if it is not known
}

// file is the path of a file as people write it.
func (w Where) file(path string) string {
	if rest, ok := strings.CutPrefix(path, w.Home+"/"); ok && w.Home != "" {
		path = "~/" + rest
	}
	return terminal.Line(path)
}

// words say where the calls work, and what is there.
func (w Where) words() string {
	ref, mirrors := "", ""
	if w.Ref != "" {
		ref = " of ref " + terminal.Line(w.Ref)
	}
	if w.Source != "" {
		mirrors = "   (mirrors " + terminal.Line(w.Source) + ")"
	}
	switch {
	case w.Kind == run.PlaceInPlace && w.Path != "":
		if w.Ref != "" {
			ref = ", ref " + terminal.Line(w.Ref)
		}
		return "in " + terminal.Line(w.Path) + ref + "   (your own files, not a copy)"
	case w.Kind == run.PlaceWorktree:
		return "in worktree" + ref + mirrors
	case w.Kind == run.PlaceCopy:
		return "in a copy" + mirrors
	case w.Kind == run.PlaceClone:
		return "in a clone" + ref + mirrors
	case w.Kind == run.PlaceEmpty:
		return "in a directory that was empty"
	case w.Source != "":
		return "in a worktree" + mirrors
	case w.Path != "":
		return "in " + terminal.Line(w.Path)
	}
	return ""
}

// Prompt is one call of a question as a person is shown it, in the order of the
// permission text: the tool and where it runs, the call, its context, why it asks, and
// the answers with what each would remember.
type Prompt struct {
	Settled bool // an earlier question or decision was about the call; this one is not
	Unread  bool // no key is read where it is shown, so none is named
	Call    Call
	Asked   run.ApprovalCall
	Where   Where
	// Number is the call's place among the Of calls that stand in one answer of the model.
	Number, Of int
	Others     []Other
	Also       []int  // numbers of later calls that the offer covers, if it is given
	RememberIn string // the file that an answer for good is written to
	Ends       bool   // a no ends the run: what asks stands before it
	Offer      *permission.Offer
}

// Other is another call of the same answer of the model.
type Other struct {
	ID     string
	Number int
	Call   string // on one line
	Remark string // how it stands to the question
}

// Asks reports whether the call needs an answer.
func (p Prompt) Asks() bool { return p.Ends || p.Asked.Ruling.Decision == string(permission.Ask) }

// Answers are those that the call can be given, in the order of the permission text.
func (p Prompt) Answers() []string {
	switch {
	case p.Ends:
		return []string{permission.AnswerOnce, permission.AnswerDeny}
	case len(p.Asked.Answers) > 0:
		return p.Asked.Answers
	}
	return []string{permission.AnswerOnce, permission.AnswerDeny, permission.AnswerDenyReason}
}

// Allows reports whether the call can be given that answer.
func (p Prompt) Allows(answer string) bool { return slices.Contains(p.Answers(), answer) }

// Level names the level of the call's tool.
func (p Prompt) Level() string {
	names := []string{"silent", "visible", "approve"}
	l := p.Asked.Ruling.Level
	if p.Settled {
		return "an earlier call"
	}
	if p.Asked.ToolCallID == "" || l < 0 || l >= len(names) {
		return "before the run begins"
	}
	return fmt.Sprintf("Level %d (%s)", l, names[l])
}

// Position says which of several calls this is; "" if there is only one.
func (p Prompt) Position() string {
	if p.Of < 2 {
		return ""
	}
	return fmt.Sprintf("call %d of %d", p.Number, p.Of)
}

// Summary is the call on one line.
func (p Prompt) Summary() string { return p.Call.Summary() }

// Lines is all of the prompt. Long thinking is cut to a preview unless all is asked for.
func (p Prompt) Lines(all bool) []Line {
	out := append(p.place(), p.locks()...)
	section := func(lines []Line) {
		if len(lines) > 0 {
			out = append(append(out, Line{}), lines...)
		}
	}
	call := p.Call.Lines()
	if p.Call.hides() {
		call = append(call, Line{Weight: Warning, Lead: "  ", Next: "  ", Text: `It holds characters that do not print; they are shown as escapes such as \x1b.`})
	}
	section(append(call, p.program()...))
	section(p.change())
	section(append(p.context(all), p.because()...))
	section(p.others())
	switch {
	case p.Asks() && p.Unread:
		section(p.offered())
	case p.Asks():
		section(p.choices())
	}
	return out
}

const fetchPlace = "GET, in process: no body, no headers of the model's choosing; a redirect to another host asks again"

// place is the tool and where it runs.
func (p Prompt) place() []Line {
	where := p.Where.words()
	switch pattern.Canonical(p.Call.Tool) {
	case "web_fetch":
		where = fetchPlace
	case toolConfig:
		where = p.configPlace()
	}
	return []Line{{Weight: Strong, Lead: terminal.Line(pattern.Shown(p.Call.Tool)) + "   ", Next: "    ", Text: where}}
}

func (p Prompt) locks() []Line {
	if len(p.Asked.Locks) == 0 {
		return nil
	}
	return []Line{{Lead: "Locks if approved: ", Next: "    ", Text: terminal.Line(strings.Join(p.Asked.Locks, ", "))}}
}

// The preview of long thinking. Source: permission text, "The prompt".
const (
	previewRunes = 400
	previewLines = 4
)

// Long reports whether the prompt has thinking that is cut to a preview.
func (p Prompt) Long() bool {
	return strings.TrimSpace(p.Call.Why) == "" && preview(p.Call.Thinking) != strings.TrimSpace(p.Call.Thinking)
}

func preview(text string) string {
	text = strings.TrimSpace(text)
	short := text
	if lines := strings.SplitN(text, "\n", previewLines+1); len(lines) > previewLines {
		short = strings.Join(lines[:previewLines], "\n")
	}
	if r := []rune(short); len(r) > previewRunes {
		short = string(r[:previewRunes])
	}
	if short == text {
		return text
	}
	return strings.TrimRight(short, " \n") + " …"
}

// context is what the model said before the call.
func (p Prompt) context(all bool) []Line {
	if strings.TrimSpace(p.Call.Why) != "" {
		return prose(Plain, "  why: ", p.Call.Why)
	}
	thinking := strings.TrimSpace(p.Call.Thinking)
	switch {
	case thinking == "" && p.Ends:
		return nil
	case thinking == "":
		return []Line{{Weight: Muted, Lead: "  ", Next: "  ", Text: "No model context available for this call."}}
	case !all:
		thinking = preview(thinking)
	}
	return prose(Plain, "  Model thinking: ", thinking)
}

// byLevel are the gates that the level alone puts up, which the prompt names anyway.
var byLevel = []permission.Gate{permission.GateLevel, permission.GateHost}

// because says why the call asks if not by its level alone, and what to look at.
func (p Prompt) because() []Line {
	var out []Line
	weight, more := Plain, false
	for _, g := range p.Asked.Gates {
		more = more || !slices.Contains(byLevel, g)
		if g != permission.GateRuntime && !slices.Contains(byLevel, g) {
			weight = Warning // more than the server's list, which asks about much
		}
	}
	if p.Asked.Reason != "" && more {
		out = append(out, prose(weight, "  asks because: ", p.Asked.Reason)...)
	}
	for _, n := range p.Asked.Notes {
		out = append(out, prose(Warning, "  note: ", n)...)
	}
	return out
}

func (p Prompt) others() []Line {
	if len(p.Others) == 0 {
		return nil
	}
	out := []Line{{Weight: Muted, Lead: "  ", Next: "  ", Text: "in the same answer of the model:"}}
	for _, o := range p.Others {
		out = append(out, Line{Weight: Muted, Lead: fmt.Sprintf("  %d  ", o.Number), Next: "      ", Text: terminal.Line(o.Call + " · " + o.Remark)})
	}
	return out
}

// choices are the answers, each with what it would remember and what that covers.
func (p Prompt) choices() []Line {
	var out []Line
	add := func(lead, next, text string) {
		out = append(out, Line{Lead: lead, Next: next, Text: text})
	}
	for _, a := range p.Answers() {
		switch a {
		case permission.AnswerOnce:
			add("y  ", "   ", p.once())
		case permission.AnswerSession:
			if p.Offer != nil {
				out = append(out, p.Scope()...)
			}
		case permission.AnswerRemember:
			add("A  remember:        ", "     ", "the same, written to "+p.destination())
		case permission.AnswerEdit:
			add("e  ", "   ", p.editing())
		case permission.AnswerDeny:
			text := "deny"
			if p.Ends {
				text = "refuse, which ends the run"
			}
			add("n  ", "   ", text)
		case permission.AnswerDenyReason:
			add("N  ", "   ", "deny with reason")
		}
	}
	return out
}

func (p Prompt) once() string {
	if slices.Contains(p.Asked.Gates, permission.GateRepetition) {
		return "this call only, and what was repeated so far is forgotten"
	}
	return "this call only"
}

// Scope is what a remembers, and what that covers in plain words.
func (p Prompt) Scope() []Line {
	w := Plain
	if StartsOthers(*p.Offer) {
		w = Warning
	}
	out := []Line{
		{Lead: "a  this session:    ", Next: "     ", Text: terminal.Exact(p.Offer.Scope), Exact: true},
		{Weight: w, Lead: "   = ", Next: "     ", Text: terminal.Line(p.Offer.Covers)},
	}
	if also := p.also(); also != "" {
		out = append(out, Line{Lead: "   + ", Next: "     ", Text: also})
	}
	if w == Warning {
		out = append(out, Line{Weight: w, Lead: "   ! ", Next: "     ", Text: "careful with a and A: what it runs can be anything"})
	}
	return out
}

// offered is what a yes for more than once would remember, and what that covers.
func (p Prompt) offered() []Line {
	if p.Offer == nil || !p.Allows(permission.AnswerSession) {
		return nil
	}
	out := []Line{
		{Lead: "can be kept:  ", Next: "    ", Text: terminal.Exact(p.Offer.Scope), Exact: true},
		{Lead: "  = ", Next: "    ", Text: terminal.Line(p.Offer.Covers)},
	}
	if StartsOthers(*p.Offer) {
		out[1].Weight = Warning
		out = append(out, Line{Weight: Warning, Lead: "  ! ", Next: "    ", Text: "careful with that: what it runs can be anything"})
	}
	return out
}

// also says which calls of the same answer need no answer of their own after a or A.
func (p Prompt) also() string {
	if len(p.Also) == 0 {
		return ""
	}
	numbers := make([]string, len(p.Also))
	for i, n := range p.Also {
		numbers[i] = strconv.Itoa(n)
	}
	noun := "call "
	if len(numbers) > 1 {
		noun = "calls "
	}
	return "a and A cover " + noun + strings.Join(numbers, ", ") + " of the same answer, too"
}

// StartsOthers reports whether an offer covers a program that runs other programs,
// which the sentence about it says.
func StartsOthers(o permission.Offer) bool {
	return strings.Contains(o.Covers, "runs what its arguments name")
}

// destination is where A writes to.
func (p Prompt) destination() string {
	file := "project config"
	if p.RememberIn != "" {
		file = terminal.Line(p.RememberIn)
	}
	list := permission.ListPromoted
	if p.Offer != nil && p.Offer.List != "" {
		list = p.Offer.List
	}
	table, key, _ := strings.Cut(list, ".")
	if file += " [" + terminal.Line(table) + "]"; table != "permissions" {
		file += " " + terminal.Line(key)
	}
	return file
}

func (p Prompt) editing() string {
	what := "pattern"
	if p.Offer != nil && p.Offer.IsHost {
		what = "host"
	}
	if p.Allows(permission.AnswerRemember) {
		return "edit the " + what + " before a or A"
	}
	return "edit the " + what + " before a"
}
