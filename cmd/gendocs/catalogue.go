package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"hecate/domain/event"
)

// member is one line of a table: a member of a JSON object.
type member struct {
	name     string
	kind     string // in Markdown
	optional bool
	meaning  string
}

// entry is one event, or one type that several of them use.
type entry struct {
	name    string // on the wire, or package and type
	goName  string
	stream  string
	schema  int
	doc     string
	members []member
	sample  string // indented JSON
}

// catalogue is everything that the page shows.
type catalogue struct {
	src    *source
	events []entry
	types  map[string]entry // by package and type
}

// streams names the streams that are not called after the package of their events.
var streams = map[string]string{
	"external.event":  "external-<run id>",
	"log.key_rotated": "audit-key", "log.key_replaced": "audit-key",
	"retention.finished":            "retention",
	"workspace.operation.requested": "op-<id>", "workspace.operation.begun": "op-<id>", "workspace.operation.completed": "op-<id>",
}

// sampleSalt stands for the random salt of a text that is moved out, so that the page is the same each time.
func sampleSalt() [16]byte { return [16]byte{} }

func newCatalogue(src *source) (*catalogue, error) {
	c := &catalogue{src: src, types: map[string]entry{}}
	for _, d := range event.Definitions() {
		e, err := c.event(d)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", d.Type, err)
		}
		c.events = append(c.events, e)
	}
	return c, nil
}

func (c *catalogue) event(d *event.Definition) (entry, error) {
	t := d.GoType()
	about, err := c.src.of(t)
	if err != nil {
		return entry{}, err
	}
	if about.doc == "" {
		return entry{}, fmt.Errorf("%s has no comment", t)
	}
	members, err := c.members(t)
	if err != nil {
		return entry{}, err
	}
	encoded, err := event.Encode(d.Sample, sampleSalt)
	if err != nil {
		return entry{}, err
	}
	var sample bytes.Buffer
	if err := json.Indent(&sample, encoded.Data, "", "  "); err != nil {
		return entry{}, err
	}
	stream := streams[d.Type]
	if stream == "" {
		subject, _, _ := strings.Cut(t.String(), ".")
		stream = subject + "-<id>"
	}
	return entry{d.Type, t.String(), stream, d.Schema, about.doc, members, sample.String()}, nil
}

// found is a member with its depth of embedding: the shallowest of a name wins, as in encoding/json.
type found struct {
	member
	depth int
}

func (c *catalogue) members(t reflect.Type) ([]member, error) {
	all, err := c.collect(t, 0)
	if err != nil {
		return nil, err
	}
	least := map[string]int{}
	for _, f := range all {
		if depth, seen := least[f.name]; !seen || f.depth < depth {
			least[f.name] = f.depth
		}
	}
	var out []member
	for _, f := range all {
		if f.depth == least[f.name] {
			out = append(out, f.member)
		}
	}
	return out, nil
}

func (c *catalogue) collect(t reflect.Type, depth int) ([]found, error) {
	about, err := c.src.of(t)
	if err != nil {
		return nil, err
	}
	var out []found
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner, err := c.collect(f.Type, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		optional := strings.Contains(options, "omit")
		kind, err := c.kind(f.Type)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", name, err)
		}
		if f.Type.Kind() == reflect.Pointer && !optional {
			kind += " or null"
		}
		out = append(out, found{member{name, kind, optional, about.fields[f.Name]}, depth})
	}
	return out, nil
}

// kind describes how a Go type looks in JSON.
func (c *catalogue) kind(t reflect.Type) (string, error) {
	switch t {
	case reflect.TypeFor[event.Text]():
		return "string ([text](#texts))", nil
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return "any JSON", nil
	case reflect.TypeFor[time.Time]():
		return "string (RFC 3339)", nil
	case reflect.TypeFor[[]byte]():
		return "string (base64)", nil
	}
	switch t.Kind() {
	case reflect.String:
		return c.stringKind(t)
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return "integer", nil
	case reflect.Float32, reflect.Float64:
		return "number", nil
	case reflect.Pointer:
		return c.kind(t.Elem())
	case reflect.Slice, reflect.Array:
		inner, err := c.kind(t.Elem())
		return "array of " + inner, err
	case reflect.Map:
		inner, err := c.kind(t.Elem())
		return "object of " + inner, err
	case reflect.Struct:
		return c.structKind(t)
	}
	return "", fmt.Errorf("%s has no form in the catalogue", t)
}

func (c *catalogue) stringKind(t reflect.Type) (string, error) {
	about, err := c.src.of(t)
	if err != nil || len(about.values) == 0 {
		return "string", err
	}
	return "string: `" + strings.Join(about.values, "`, `") + "`", nil
}

// structKind adds t to the types of the page and refers to it.
func (c *catalogue) structKind(t reflect.Type) (string, error) {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return "", fmt.Errorf("%s writes its own JSON: say here what it looks like", t)
	}
	name := t.String()
	if _, known := c.types[name]; !known {
		c.types[name] = entry{} // a type may refer to itself
		about, err := c.src.of(t)
		if err != nil {
			return "", err
		}
		members, err := c.members(t)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		c.types[name] = entry{name: name, doc: about.doc, members: members}
	}
	return "[" + name + "](#" + typeAnchor(name) + ")", nil
}

// typeNames returns the types of the page in order.
func (c *catalogue) typeNames() []string {
	names := make([]string, 0, len(c.types))
	for name := range c.types {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
