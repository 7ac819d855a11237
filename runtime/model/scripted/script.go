// Package scripted is a model server that answers from a script. It speaks the
// real wire protocols over HTTP (Chat Completions and Messages, streaming or
// not, and the list of models), so whatever talks to it runs the same code as
// with a real provider. It never pretends: every answer has the header
// X-Scripted-Model, and the model is called scripted-model unless told otherwise.
//
// The demo uses it, and so do tests that drive the whole runtime from outside.
package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// ModelName is the model that a server offers if Server.Models is not set.
const ModelName = "scripted-model"

// Script is the replies for the requests that hold its marker.
type Script struct {
	// Marker selects the script: the first one whose marker occurs in the request
	// body, as it is written there, answers. Use plain words. Empty matches every
	// request, so such a script goes last.
	Marker  string  `json:"marker,omitempty"`
	Replies []Reply `json:"replies"`
	// ByTurn answers a request that holds n assistant messages with reply n, so a
	// request that is repeated gets the same reply again. Otherwise replies go out
	// one by one in the order of the requests, which is what shows a call made twice.
	ByTurn bool `json:"by_turn,omitempty"`
	// Repeat starts from the first reply again after the last. Otherwise a request
	// too many is refused with status 400.
	Repeat bool `json:"repeat,omitempty"`
	// Func makes reply n (from 0) instead of Replies.
	Func func(n int, r Request) Reply `json:"-"`
}

// Reply is one answer. Text and Calls make a normal one; Stream or HTTP replace it.
type Reply struct {
	Text         string `json:"text,omitempty"`
	Calls        []Call `json:"calls,omitempty"`
	FinishReason string `json:"finish_reason,omitempty"` // in OpenAI's words; default: stop or tool_calls

	// Stream is the body as it stands, sent as text/event-stream, Split bytes per
	// write if that is set. The connection ends properly after it, unless
	// HangAfterText or CloseAfterText says otherwise.
	Stream []byte `json:"-"`
	Split  int    `json:"split,omitempty"`

	HTTP    int               `json:"http,omitempty"` // status; any but 0 sends Body alone
	Body    json.RawMessage   `json:"body,omitempty"` // a JSON string is sent as its text
	Headers map[string]string `json:"headers,omitempty"`

	Usage  *[2]int64 `json:"usage,omitempty"`  // tokens in (cached ones included) and out; nil: the answer does not say
	Cached *[2]int64 `json:"cached,omitempty"` // of the tokens in, those read from the cache and those written to it
	Cost   *int64    `json:"cost,omitempty"`   // micro-USD, sent as usage.cost in USD

	DelayMS        int  `json:"delay_ms,omitempty"`         // before the first byte
	Hang           bool `json:"hang,omitempty"`             // send nothing until the client leaves
	Close          bool `json:"close,omitempty"`            // cut the connection before the first byte
	HangAfterText  bool `json:"hang_after_text,omitempty"`  // send the text, then nothing until the client leaves
	CloseAfterText bool `json:"close_after_text,omitempty"` // send the text, then cut the connection
}

// Call is a tool call of a reply. In JSON it is [id, tool, arguments].
type Call struct {
	ID, Tool  string
	Arguments string // sent as it stands, JSON or not
}

// ToolCall returns a call. A string is sent as it stands, anything else as its
// JSON; what cannot be written as JSON is a mistake in the script and panics.
func ToolCall(id, tool string, arguments any) Call {
	if s, ok := arguments.(string); ok {
		return Call{id, tool, s}
	}
	b, err := json.Marshal(arguments)
	if err != nil {
		panic(fmt.Sprintf("script of call %s: %v", id, err))
	}
	return Call{id, tool, string(b)}
}

// UnmarshalJSON reads [id, tool, arguments], where arguments is an object or a raw string.
func (c *Call) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 3 {
		return fmt.Errorf("read scripted call: want [id, tool, arguments], got %.80s", b)
	}
	*c = Call{}
	for i, to := range []*string{&c.ID, &c.Tool} {
		if err := json.Unmarshal(parts[i], to); err != nil {
			return fmt.Errorf("read scripted call: %w", err)
		}
	}
	if json.Unmarshal(parts[2], &c.Arguments) == nil {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, parts[2]); err != nil {
		return fmt.Errorf("read scripted call: %w", err)
	}
	c.Arguments = compact.String()
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.ID, c.Tool, c.Arguments})
}

// UnmarshalJSON reads a reply and refuses keys that it does not know: a typing
// error in a script would otherwise be a silent change of it. The body of
// "stream" is the text itself, unless Load finds a file of that name.
func (r *Reply) UnmarshalJSON(b []byte) error {
	type plain Reply
	in := struct {
		*plain
		Stream string `json:"stream"`
	}{plain: (*plain)(r)}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("read scripted reply: %w", err)
	}
	r.Stream = nil
	if in.Stream != "" {
		r.Stream = []byte(in.Stream)
	}
	return nil
}

// Load reads a JSON list of scripts, or a list of replies as one script without
// a marker. A reply's "stream" names a file of files, which may be nil if there is none.
func Load(from io.Reader, files fs.FS) ([]Script, error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	scripts, err := parse(text)
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		for i := range s.Replies {
			r := &s.Replies[i]
			if r.Stream == nil || files == nil {
				continue
			}
			name := string(r.Stream)
			if r.Stream, err = fs.ReadFile(files, name); err != nil {
				return nil, fmt.Errorf("read scripted stream: %w", err)
			}
		}
	}
	return scripts, nil
}

func parse(text []byte) ([]Script, error) {
	var probe []map[string]json.RawMessage
	if err := json.Unmarshal(text, &probe); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if len(probe) > 0 && probe[0]["replies"] != nil {
		var scripts []Script
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&scripts); err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		return scripts, nil
	}
	var replies []Reply
	if err := json.Unmarshal(text, &replies); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return []Script{{Replies: replies}}, nil
}

func (r Reply) delay() time.Duration { return time.Duration(r.DelayMS) * time.Millisecond }

// reason is the effective finish reason in OpenAI's words.
func (r Reply) reason() string {
	switch {
	case r.FinishReason != "":
		return r.FinishReason
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}
