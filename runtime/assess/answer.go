package assess

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hecate/domain/permission/repetition"
	"hecate/runtime/model"
)

// Bounds of an answer, in bytes but for the number of observations.
const (
	answerMax       = 64 << 10 // more is not looked at
	observationsMax = 8
	observationMax  = 300
)

// verdict is the object that a model answers with.
type verdict struct {
	Assessment   repetition.Assessment `json:"assessment"`
	Observations []observation         `json:"observations"`
}

// observation is what the model has seen in one exchange.
type observation struct {
	Round *int   `json:"round"`
	Text  string `json:"text"`
}

// members are the names that may occur in an answer, spelled like that.
var members = []string{"assessment", "observations", "round", "text"}

// read takes an answer for what it says, or for invalid.
func read(resp *model.Response, e repetition.Evidence) Result {
	switch {
	case len(resp.Message.ToolCalls) > 0:
		return failed(repetition.Invalid, errors.New("the answer calls tools"))
	case resp.FinishReason == "length" || resp.FinishReason == "content_filter":
		return failed(repetition.Invalid, fmt.Errorf("the answer was cut off (%s)", resp.FinishReason))
	}
	v, err := parse(resp.Message.Content.String())
	if err != nil {
		return failed(repetition.Invalid, err)
	}
	r := Result{Assessment: v.Assessment, Observations: v.about(e)}
	switch {
	case !slices.Contains([]repetition.Assessment{repetition.Progress, repetition.Loop, repetition.Uncertain}, v.Assessment):
		return failed(repetition.Invalid, fmt.Errorf("the answer has the unknown assessment %q", v.Assessment))
	case v.Assessment == repetition.Progress && len(r.Observations) == 0:
		return failed(repetition.Invalid, errors.New("the answer claims progress and points to none of the exchanges shown"))
	}
	return r
}

// parse finds the one object in an answer. There may be text around it, but none with
// braces: then it would not be certain which object is the answer.
func parse(text string) (v verdict, err error) {
	start := strings.IndexByte(text, '{')
	switch {
	case len(text) > answerMax:
		return v, fmt.Errorf("the answer has %d bytes", len(text))
	case start < 0:
		return v, errors.New("the answer holds no JSON object")
	}
	d := json.NewDecoder(strings.NewReader(text[start:]))
	var object json.RawMessage
	if err := d.Decode(&object); err != nil {
		return v, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if around := text[:start] + text[start+int(d.InputOffset()):]; strings.ContainsAny(around, "{}") {
		return v, errors.New("the answer holds more than one object")
	}
	err = checkMembers(json.NewDecoder(bytes.NewReader(object)))
	if err == nil {
		d = json.NewDecoder(bytes.NewReader(object))
		d.DisallowUnknownFields() // such as a round outside of an observation
		err = d.Decode(&v)
	}
	if err != nil {
		return v, fmt.Errorf("the answer has another form than asked for: %w", err)
	}
	return v, nil
}

// checkMembers refuses names that stand in an object twice, of which readers take one
// or the other, and those that are not asked for, also if they differ by case only.
func checkMembers(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, is := t.(json.Delim)
	if !is {
		return nil
	}
	var seen []string
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := t.(string) // a name is nothing else
			if !slices.Contains(members, name) || slices.Contains(seen, name) {
				return fmt.Errorf("the member %q is not asked for, or comes twice", name)
			}
			seen = append(seen, name)
		}
		if err := checkMembers(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// about returns the observations that are tied to an exchange of the evidence.
func (v verdict) about(e repetition.Evidence) (out []string) {
	for _, o := range v.Observations {
		text := strings.TrimSpace(o.Text)
		if len(out) == observationsMax || o.Round == nil || text == "" {
			continue
		}
		if slices.ContainsFunc(e.Exchanges, func(x repetition.Exchange) bool { return x.Round == *o.Round }) {
			out = append(out, printable(fmt.Sprintf("round %d: %s", *o.Round, text), observationMax))
		}
	}
	return out
}

// printable writes a foreign text so that it can be shown anywhere: on one line,
// without anything that moves a cursor or turns the direction of writing, and not
// longer than most bytes.
func printable(s string, most int) string {
	const mark = "…"
	var b strings.Builder
	fits := 0 // what is left if it gets too long
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		switch {
		case b.Len() > most:
			return b.String()[:fits] + mark
		case b.Len() <= most-len(mark):
			fits = b.Len()
		}
	}
	return b.String()
}
