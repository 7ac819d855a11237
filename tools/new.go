package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hecate/domain/permission"
)

// New makes a Tool from a typed declaration. The schema comes from In: json and
// jsonschema tags, and the tags enum (comma list), minimum, maximum and default
// for what those cannot say. A number outside minimum and maximum is clamped, one
// below the minimum becomes the default; neither refuses the call. New panics if
// In cannot be described, which a program finds at start.
func New[In any](s Spec[In]) Tool {
	fields := argumentsOf(reflect.TypeFor[In]())
	return Tool{
		Name: s.Name, Summary: s.Summary, Direct: s.Direct, Schema: schemaOf[In](s.Name, fields),
		Prepare: func(args json.RawMessage) (Prepared, error) { return prepare(s, fields, args) },
	}
}

func prepare[In any](s Spec[In], fields []argument, args json.RawMessage) (Prepared, error) {
	var in In
	if err := decode(args, fields, &in); err != nil {
		return Prepared{}, fmt.Errorf("invalid arguments for %s: %w", s.Name, err)
	}
	clamp(fields, reflect.ValueOf(&in).Elem())
	if s.Check != nil {
		if err := s.Check(&in); err != nil {
			return Prepared{}, err
		}
	}
	p := Prepared{Line: s.Name + " arguments withheld", Run: s.run(in)}
	if s.Propose != nil {
		p.Propose = s.Propose(in)
	}
	if s.Input != nil {
		p.Input = shown(s.Input(in))
	}
	if s.Line != nil {
		line, complete := s.Line(in)
		p.Line = Shown(line)
		p.Complete = complete && p.Line == line
	}
	if s.Facts != nil {
		p.Facts = func(at Place) permission.Facts { return s.Facts(at, in) }
	}
	if s.Program != nil {
		p.Program = func(at Place) (string, bool) { return s.Program(at, in) }
	}
	if s.Before != nil {
		p.Before = s.before(in)
	}
	return p, nil
}

// argument is one field of an argument struct.
type argument struct {
	index    int
	name     string
	enum     []any
	min, max *float64
	def      string
}

func argumentsOf(t reflect.Type) []argument {
	var out []argument
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() { // what Check makes of the others
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		a := argument{index: i, name: name, def: f.Tag.Get("default"), min: number(f, "minimum"), max: number(f, "maximum")}
		if list := f.Tag.Get("enum"); list != "" {
			for v := range strings.SplitSeq(list, ",") {
				a.enum = append(a.enum, v)
			}
		}
		out = append(out, a)
	}
	return out
}

func number(f reflect.StructField, tag string) *float64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("tools: field %s: tag %s: %v", f.Name, tag, err))
	}
	return &v
}

func schemaOf[In any](name string, fields []argument) json.RawMessage {
	if len(fields) == 0 { // some providers refuse an object that does not say which members it has
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", name, err))
	}
	// What a model adds beyond the known members is ignored, so the schema does not forbid it.
	s.AdditionalProperties = nil
	for _, a := range fields {
		p := s.Properties[a.name]
		if len(p.Types) == 2 { // a pointer or slice in Go: null means the same as absent
			p.Type, p.Types = p.Types[1], nil
		}
		p.Enum, p.Minimum, p.Maximum = a.enum, a.min, a.max
		if a.def != "" {
			p.Default = defaultOf(p.Type, a.def)
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %s: %v", name, err))
	}
	return b
}

func defaultOf(typ, text string) json.RawMessage {
	if typ == "string" {
		return json.RawMessage(strconv.Quote(text))
	}
	return json.RawMessage(text)
}

// clamp fills what was left out from the default tag and brings numbers into their range.
func clamp(fields []argument, v reflect.Value) {
	for _, a := range fields {
		f := v.Field(a.index)
		switch {
		case f.CanInt():
			clampInt(a, f)
		case f.Kind() == reflect.String && f.String() == "" && a.def != "":
			f.SetString(a.def)
		}
	}
}

func clampInt(a argument, f reflect.Value) {
	if a.min != nil && f.Int() < int64(*a.min) {
		def, _ := strconv.ParseInt(a.def, 10, 64) // no default: zero, which means "not given"
		f.SetInt(def)
	}
	if a.max != nil && f.Int() > int64(*a.max) {
		f.SetInt(int64(*a.max))
	}
}
