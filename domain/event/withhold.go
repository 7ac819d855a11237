package event

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// Withhold returns a text without what must not be recorded, and the names of that.
type Withhold func(text string) (string, []string)

// Without returns e with every text of its payload as withhold returns it, and the names in
// Withheld. The payload that e had stays as it is. An event that was returned by Without is
// returned as it is.
func (e Event) Without(withhold Withhold) Event {
	if e.looked {
		return e
	}
	e.looked = true
	c := censor{withhold: withhold}
	if v, changed := c.value(reflect.ValueOf(e.Payload)); changed {
		e.Payload, e.Withheld = v.Interface().(Payload), c.names
	}
	return e
}

// Encode is Encode of the payload, to which it adds what was withheld of it.
func (e Event) Encode(newSalt func() [16]byte) (Encoded, error) {
	out, err := Encode(e.Payload, newSalt)
	if err == nil && len(e.Withheld) > 0 {
		out.Data, err = addWithheld(out.Data, e.Withheld)
	}
	return out, err
}

// withheldOpen begins the last member of a recorded event of which something was withheld. It
// is the record's own, whatever the type, so that nothing that an event tells of can look
// like it: of that, no member of this name stands at the end of the whole.
const withheldOpen = `"secrets_withheld":[`

func addWithheld(data []byte, names []string) ([]byte, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(slices.Clone(data), []byte("}"))
	if len(out) > len("{") {
		out = append(out, ',')
	}
	out = append(out, withheldOpen...)
	out = append(out, list[1:]...)
	return append(out, '}'), nil
}

// SplitWithheld returns the data of a recorded event as its payload was encoded, and the
// names of the secrets that stood in it and were withheld from the log. It does not look
// through data.
func SplitWithheld(data []byte) (payload []byte, names []string) {
	list, ok := bytes.CutSuffix(data, []byte("]}"))
	if !ok {
		return data, nil
	}
	i := bytes.LastIndexByte(list, '[') + 1
	before, ok := bytes.CutSuffix(list[:i], []byte(withheldOpen))
	if !ok || json.Unmarshal(data[i-1:len(data)-1], &names) != nil {
		return data, nil
	}
	return append(bytes.TrimSuffix(slices.Clone(before), []byte(",")), '}'), names
}

// censor goes through a payload. It copies what it changes, and what holds that.
type censor struct {
	withhold Withhold
	names    []string
}

func (c *censor) text(s string) (string, bool) {
	out, names := c.withhold(s)
	for _, n := range names {
		if !slices.Contains(c.names, n) {
			c.names = append(c.names, n)
		}
	}
	return out, len(names) > 0
}

func (c *censor) value(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		s, changed := c.text(v.String())
		if !changed {
			return v, false
		}
		out := reflect.New(v.Type()).Elem()
		out.SetString(s)
		return out, true
	case reflect.Struct:
		return c.structure(v)
	case reflect.Slice, reflect.Array:
		return c.list(v)
	case reflect.Map:
		return c.table(v)
	case reflect.Pointer, reflect.Interface:
		return c.behind(v)
	default:
		return v, false
	}
}

func (c *censor) structure(v reflect.Value) (reflect.Value, bool) {
	if v.Type() == textType {
		t := v.Interface().(Text)
		s, changed := c.text(t.s)
		if !changed {
			return v, false
		}
		return reflect.ValueOf(NewText(s)), true
	}
	var out reflect.Value
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		f, changed := c.value(v.Field(i))
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
		}
		out.Field(i).Set(f)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (c *censor) list(v reflect.Value) (reflect.Value, bool) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return c.bytes(v)
	}
	var out reflect.Value
	for i := range v.Len() {
		e, changed := c.value(v.Index(i))
		if !changed {
			continue
		}
		if !out.IsValid() {
			out = reflect.New(v.Type()).Elem()
			if v.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(e)
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func (c *censor) table(v reflect.Value) (reflect.Value, bool) {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	changed := false
	for it := v.MapRange(); it.Next(); {
		k, changedKey := c.value(it.Key())
		e, changedValue := c.value(it.Value())
		changed = changed || changedKey || changedValue
		out.SetMapIndex(k, e)
	}
	if !changed {
		return v, false
	}
	return out, true
}

// behind looks at what a pointer or an interface leads to. A number of JSON that has to give
// way becomes a text.
func (c *censor) behind(v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	e, changed := c.value(v.Elem())
	if !changed {
		return v, false
	}
	if n, ok := e.Interface().(json.Number); ok && v.Kind() == reflect.Interface {
		e = reflect.ValueOf(n.String())
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(e)
		return p, true
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(e)
	return out, true
}

// bytes looks at bytes; at those of JSON as what they say, which may be spelled in many ways.
func (c *censor) bytes(v reflect.Value) (reflect.Value, bool) {
	raw := v.Bytes()
	s, changed := c.text(string(raw))
	if v.Type() == rawType && (changed || bytes.IndexByte(raw, '\\') >= 0) {
		s, changed = c.json(raw, s, changed)
	}
	if !changed {
		return v, false
	}
	return reflect.ValueOf([]byte(s)).Convert(v.Type()), true
}

// json looks at a JSON text of which only its bytes were looked at. What it does not say, but
// stands across what it says, leaves a text of it.
func (c *censor) json(raw []byte, looked string, changed bool) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var said any
	if d.Decode(&said) == nil {
		if v, inside := c.value(reflect.ValueOf(&said)); inside {
			if out, err := marshal(v.Interface()); err == nil {
				return string(out), true
			}
		}
	}
	if !changed {
		return "", false
	}
	out, err := marshal(looked)
	if err != nil { // a string always encodes
		return "null", true
	}
	return string(out), true
}
