package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"
)

// depthMax is how deep arguments may be nested.
const depthMax = 64

// decode reads an object of arguments into v. Members that v does not know are
// ignored; names are matched exactly, and a name that comes twice anywhere is an
// error, as is text that is no Unicode: two readers could otherwise see two different
// calls. Nothing and null stand for an empty object, as some models send them.
func decode(args json.RawMessage, known []argument, v any) error {
	if t := bytes.TrimSpace(args); len(t) == 0 || string(t) == "null" {
		args = json.RawMessage("{}")
	}
	if err := checkJSON(args); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(args, &all); err != nil {
		return errors.New("the arguments must be a JSON object")
	}
	// encoding/json would also match names in other letter case: hand it the exact ones only.
	for name := range all {
		if !slices.ContainsFunc(known, func(a argument) bool { return a.name == name }) {
			delete(all, name)
		}
	}
	exact, err := json.Marshal(all)
	if err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(exact, v); errors.As(err, &wrong) {
		return fmt.Errorf("%q must be of another type than %s", wrong.Field, wrong.Value)
	} else if err != nil {
		return err
	}
	return nil
}

// checkJSON reports whether data is one JSON value of whole characters, without
// duplicate names.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("not valid JSON: the text is no UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var syntax *json.SyntaxError
	switch err := checkValue(d, 0); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not valid JSON: the text ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %w", err)
	case err != nil:
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more data after the JSON value")
	}
	return checkEscapes(data)
}

// halfCharacter finds escapes in JSON: pairs of surrogates, which are one character, and
// single ones, which are none.
var halfCharacter = regexp.MustCompile(`(?i)\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}`)

// checkEscapes refuses what encoding/json reads as U+FFFD: a file would get another text
// than the model wrote.
func checkEscapes(data []byte) error {
	const one = len(`\ud800`)
	for _, e := range halfCharacter.FindAll(data, -1) {
		if len(e) == one {
			return fmt.Errorf("%s is half of a character; write the character itself", e)
		}
	}
	return nil
}

func checkValue(d *json.Decoder, depth int) error {
	if depth > depthMax {
		return fmt.Errorf("nested deeper than %d levels", depthMax)
	}
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := t.(string) // the decoder has seen to that
			if seen[name] {
				return fmt.Errorf("member %q comes twice", name)
			}
			seen[name] = true
		}
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
