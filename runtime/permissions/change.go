package permissions

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hecate/domain/fault"
	"hecate/domain/permission"
)

// change is a file's text after a change: the text itself if there is nothing to do.
// A text is only given back if it was read again and says exactly what it shall.
func change(path string, text []byte, c permission.Change) ([]byte, error) {
	bom, body := cutBOM(text)
	read := parse(c.Layer, path, body, "")
	doc, err := decode(body)
	switch {
	case err != nil:
		return nil, fault.Conflict("permission_file_broken", "%s cannot be changed: %s", path, read.problems[0].Message)
	case !read.ok && c.Grants() && !c.Remove:
		return nil, fault.Conflict("permission_file_broken", "%s: a grant would not count until this is mended: %s: %s", path, read.problems[0].At, read.problems[0].Message)
	}
	list, err := listIn(doc, c.List)
	if err != nil {
		return nil, fault.Conflict("permission_file_broken", "%s cannot be changed: %v", path, err)
	}
	for range len(list) + 1 {
		i := slices.IndexFunc(list, func(x any) bool { return c.Same(textOf(x)) })
		if (i >= 0) != c.Remove {
			break
		}
		want := append(slices.Clone(list), entryValue(c))
		if c.Remove {
			want = slices.Delete(slices.Clone(list), i, i+1)
		}
		next := firstThatSays(body, candidates(body, c, i), c.List, want)
		if next == nil {
			return nil, fault.Conflict("permission_file_odd", "%s is written in a way that cannot be changed here: edit %s by hand", path, c.List)
		}
		body, list = next, want
	}
	return append(bom[:len(bom):len(bom)], body...), nil
}

// cutBOM takes off the mark that some editors put in front of a text.
func cutBOM(text []byte) (bom, body []byte) {
	const mark = "\xef\xbb\xbf"
	if bytes.HasPrefix(text, []byte(mark)) {
		return text[:len(mark)], text[len(mark):]
	}
	return nil, text
}

func decode(body []byte) (doc map[string]any, err error) {
	err = toml.Unmarshal(body, &doc)
	return doc, err
}

// listIn is a list of a file; empty if it is not there.
func listIn(doc map[string]any, key string) ([]any, error) {
	section, name, _ := strings.Cut(key, ".")
	table, ok := doc[section].(map[string]any)
	if !ok && doc[section] != nil {
		return nil, fmt.Errorf("%s is not a table", section)
	}
	list, ok := table[name].([]any)
	if !ok && table[name] != nil {
		return nil, fmt.Errorf("%s is not a list", key)
	}
	return list, nil
}

// textOf is what an entry of a list names; "" if it is no entry.
func textOf(x any) string {
	switch x := x.(type) {
	case string:
		return x
	case map[string]any:
		for _, key := range []string{"pattern", "host"} {
			if s, ok := x[key].(string); ok {
				return s
			}
		}
	}
	return ""
}

// entryValue is the entry as it is read back.
func entryValue(c permission.Change) any {
	if c.Reason == "" {
		return c.Text
	}
	return map[string]any{entryKey(c.List): c.Text, "reason": c.Reason}
}

// entryKey is what names the entry beside its reason.
func entryKey(list string) string {
	if strings.HasPrefix(list, "network.") {
		return "host"
	}
	return "pattern"
}

// firstThatSays is the first text whose list is want and which says nothing else that
// was does not; nil if there is none.
func firstThatSays(was []byte, texts [][]byte, key string, want []any) []byte {
	before, err := decode(was)
	if err != nil {
		return nil
	}
	drop(before, key)
	for _, text := range texts {
		after, err := decode(text)
		if err != nil {
			continue
		}
		list, err := listIn(after, key)
		if err != nil || !slices.EqualFunc(list, want, func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
			continue
		}
		if drop(after, key); reflect.DeepEqual(before, after) {
			return text
		}
	}
	return nil
}

// drop takes a list out of a file, and its table if nothing else is in it.
func drop(doc map[string]any, key string) {
	section, name, _ := strings.Cut(key, ".")
	table, ok := doc[section].(map[string]any)
	if !ok {
		return
	}
	if delete(table, name); len(table) == 0 {
		delete(doc, section)
	}
}
