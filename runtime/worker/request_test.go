package worker_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"hecate/runtime/model/scripted"
)

// said is one message of a request as it went over the wire.
type said struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (m said) text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

func messages(r scripted.Request) ([]said, error) {
	var body struct {
		Messages []said `json:"messages"`
	}
	err := json.Unmarshal(r.Body, &body)
	return body.Messages, err
}

// strict is a provider that takes nothing but what every provider takes.
func (n *node) strict(r scripted.Request) *scripted.Reply {
	if refused := scripted.RefuseBrokenArguments(r); refused != nil {
		n.t.Errorf("a request has broken arguments: %s", r.Body)
		return refused
	}
	list, err := messages(r)
	if err == nil {
		err = valid(list)
	}
	if err == nil {
		return nil
	}
	n.t.Errorf("no provider takes this request: %v: %s", err, transcript(list))
	return &scripted.Reply{HTTP: 400, Body: json.RawMessage(`"invalid"`)}
}

// valid says what is wrong with a conversation: each call is answered, once, in order,
// before anybody else speaks; nobody is silent; the model did not speak last.
func valid(list []said) error {
	for i := 0; i < len(list); i++ {
		m := list[i]
		switch {
		case m.Role == "tool":
			return fmt.Errorf("message %d answers a call that nobody made", i)
		case m.Role == "assistant" && len(m.ToolCalls) == 0 && strings.TrimSpace(m.text()) == "":
			return fmt.Errorf("message %d says nothing", i)
		}
		for _, call := range m.ToolCalls {
			if i++; i >= len(list) || list[i].Role != "tool" || list[i].ToolCallID != call.ID {
				return fmt.Errorf("call %s is not answered in its place", call.ID)
			}
		}
	}
	if len(list) == 0 || list[len(list)-1].Role == "assistant" {
		return fmt.Errorf("it is not the model's turn")
	}
	return nil
}

// transcript writes a conversation down without its system messages: who speaks, calls as a<, their
// results as a>, with what became of a call that did not simply run.
func transcript(list []said) string {
	var out []string
	for _, m := range list {
		switch {
		case m.Role == "system":
		case m.Role == "tool":
			out = append(out, m.ToolCallID+">"+fate(m.text()))
		case len(m.ToolCalls) > 0:
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			out = append(out, strings.Join(ids, ",")+"<")
		case m.Role == "user":
			out = append(out, "user:"+m.text())
		default:
			out = append(out, m.text())
		}
	}
	return strings.Join(out, " ")
}

func fate(result string) string {
	for word, text := range map[string]string{
		"unknown": "outcome unknown", "skipped": "not run:", "cancelled": "context canceled", "invalid": "invalid arguments",
	} {
		if strings.Contains(result, text) {
			return "(" + word + ")"
		}
	}
	return ""
}

// asked returns the transcripts of the model calls so far.
func (n *node) asked() (out []string) {
	n.t.Helper()
	for _, r := range n.model.Requests() {
		list, err := messages(r)
		if err != nil {
			n.t.Fatal(err)
		}
		out = append(out, transcript(list))
	}
	return out
}

// lastAsked is the transcript of the newest model call.
func (n *node) lastAsked() string {
	n.t.Helper()
	all := n.asked()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}
