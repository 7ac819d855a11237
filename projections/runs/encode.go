package runs

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections"
)

// Steps and messages are most of what a rebuild writes, so they are written as JSON by
// hand; encoding/json reads them again. What is empty is left out.

// object is a JSON object that is being written.
type object struct{ b []byte }

func (o *object) key(name string) {
	if len(o.b) > 0 && o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...) // names are ours and need no escape
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, v string) {
	if v != "" {
		o.key(name)
		o.b = appendText(o.b, v)
	}
}

func (o *object) number(name string, v int64) {
	if v != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, v, 10)
	}
}

func (o *object) yes(name string, v bool) {
	if v {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) values(name string, v map[string]any) (err error) {
	if v != nil {
		o.key(name)
		o.b, err = appendValue(o.b, v)
	}
	return err
}

// full writes a text of any bytes as event.Text reads it.
func (o *object) full(name string, t event.Text) {
	o.key(name)
	switch ref := t.Ref(); {
	case ref != nil:
		in := object{append(o.b, '{')}
		in.text("blob", ref.Digest)
		in.number("size", ref.Size)
		in.text("media_type", ref.MediaType)
		o.b = append(in.b, '}')
	case !utf8.ValidString(t.String()):
		o.b = append(o.b, `{"base64":"`...)
		o.b = base64.StdEncoding.AppendEncode(o.b, []byte(t.String()))
		o.b = append(o.b, `"}`...)
	default:
		o.b = appendText(o.b, t.String())
	}
}

const hexDigits = "0123456789abcdef"

// appendText writes a string; bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + 1
			}
			i += n
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i-1]...)
		from = i
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// exactMax is the largest integer up to which float64 is exact.
const exactMax = 1 << 53

// appendValue writes what JSON decodes to, and what this package puts into maps.
func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exactMax && !(v == 0 && math.Signbit(v)) {
			return strconv.AppendInt(b, int64(v), 10), nil
		}
	case map[string]any:
		if v != nil {
			return appendMap(b, v)
		}
	}
	rest, err := json.Marshal(v)
	return append(b, rest...), err
}

func appendMap(b []byte, m map[string]any) ([]byte, error) {
	b = append(b, '{')
	var few [16]string
	names := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(names)
	var err error
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		if b, err = appendValue(b, m[name]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func encodeStep(s *projections.Step) ([]byte, error) {
	o := object{append(make([]byte, 0, 640), '{')}
	o.text("id", s.ID)
	o.text("parent_step_id", s.ParentStepID)
	o.text("kind", s.Kind)
	o.text("title", s.Title)
	o.text("status", s.Status)
	o.text("phase", s.Phase)
	o.text("result", s.Result)
	o.text("tool_name", s.ToolName)
	o.text("outcome", s.Outcome)
	if err := o.values("input", s.Input); err != nil {
		return nil, err
	}
	if err := o.values("output_summary", s.Output); err != nil {
		return nil, err
	}
	o.number("exit_code", s.ExitCode)
	o.text("error", s.Error)
	o.text("error_kind", s.ErrorKind)
	o.text("approval_id", s.ApprovalID)
	o.text("started_at", s.StartedAt)
	o.text("finished_at", s.FinishedAt)
	o.text("span_id", s.SpanID)
	o.text("parent_span_id", s.ParentSpanID)
	return append(o.b, '}'), nil
}

// encodeVersions writes what json.Unmarshal reads as a []int64.
func encodeVersions(versions []int64) []byte {
	b := append(make([]byte, 0, 8*len(versions)+2), '[')
	for i, v := range versions {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, ']')
}

// encodeMessage writes what the conversation shows of a message. Reasoning blocks only
// go back to the provider, from the log.
func encodeMessage(m *run.Message) []byte {
	o := object{append(make([]byte, 0, 128+min(m.Content.Len(), event.InlineMax)), '{')}
	o.text("role", string(m.Role))
	o.full("content", m.Content)
	if len(m.ToolCalls) > 0 {
		o.key("tool_calls")
		o.b = append(o.b, '[')
		for i, c := range m.ToolCalls {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			call := object{append(o.b, '{')}
			call.text("id", c.ID)
			call.text("name", c.Name)
			call.full("arguments", c.Arguments)
			o.b = append(call.b, '}')
		}
		o.b = append(o.b, ']')
	}
	o.text("tool_call_id", m.ToolCallID)
	o.yes("tool_error", m.ToolError)
	return append(o.b, '}')
}
