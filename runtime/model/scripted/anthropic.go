package scripted

import "encoding/json"

type anthropic struct{}

func (anthropic) usage(r Reply) m {
	u := m{}
	if r.Usage != nil {
		u["input_tokens"], u["output_tokens"] = r.Usage[0], r.Usage[1]
	}
	if r.Cached != nil { // this dialect counts them beside the input
		u["cache_read_input_tokens"], u["cache_creation_input_tokens"] = r.Cached[0], r.Cached[1]
		if r.Usage != nil {
			u["input_tokens"] = r.Usage[0] - r.Cached[0] - r.Cached[1]
		}
	}
	if r.Cost != nil {
		u["cost"] = usd(*r.Cost)
	}
	return u
}

func (anthropic) reason(r Reply) string {
	switch reason := r.reason(); reason {
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	default:
		return reason
	}
}

// whole sends arguments that are no JSON as a JSON string: this form of the
// dialect has no other place for them.
func (d anthropic) whole(r Reply, model string) any {
	content := []m{}
	if r.Text != "" {
		content = append(content, m{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		input := any(json.RawMessage(c.Arguments))
		if !json.Valid([]byte(c.Arguments)) {
			input = c.Arguments
		}
		content = append(content, m{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": input})
	}
	return m{
		"id": "scripted", "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": d.reason(r), "stop_sequence": nil, "usage": d.usage(r),
	}
}

func (d anthropic) begin(o *output, r Reply, model string) error {
	u := d.usage(Reply{Usage: r.Usage, Cached: r.Cached})
	if r.Usage != nil {
		u["output_tokens"] = 1
	}
	return o.data("message_start", m{"type": "message_start", "message": m{
		"id": "scripted", "type": "message", "role": "assistant", "model": model, "content": []m{},
		"stop_reason": nil, "stop_sequence": nil, "usage": u,
	}})
}

func (d anthropic) text(o *output, piece string) error {
	if !o.opened {
		o.opened = true
		if err := d.block(o, 0, m{"type": "text", "text": ""}); err != nil {
			return err
		}
	}
	return d.delta(o, 0, m{"type": "text_delta", "text": piece})
}

func (d anthropic) call(o *output, n int, c Call) error {
	if o.opened {
		n++
		if n == 1 {
			if err := d.stop(o, 0); err != nil {
				return err
			}
		}
	}
	if err := d.block(o, n, m{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": m{}}); err != nil {
		return err
	}
	for _, piece := range pieces(c.Arguments, argumentsChunkRunes) {
		if err := d.delta(o, n, m{"type": "input_json_delta", "partial_json": piece}); err != nil {
			return err
		}
	}
	return d.stop(o, n)
}

func (d anthropic) end(o *output, r Reply) error {
	if o.opened && len(r.Calls) == 0 {
		if err := d.stop(o, 0); err != nil {
			return err
		}
	}
	delta := m{"type": "message_delta", "delta": m{"stop_reason": d.reason(r), "stop_sequence": nil}, "usage": d.usage(r)}
	if err := o.data("message_delta", delta); err != nil {
		return err
	}
	return o.data("message_stop", m{"type": "message_stop"})
}

func (anthropic) block(o *output, n int, block m) error {
	return o.data("content_block_start", m{"type": "content_block_start", "index": n, "content_block": block})
}

func (anthropic) delta(o *output, n int, delta m) error {
	return o.data("content_block_delta", m{"type": "content_block_delta", "index": n, "delta": delta})
}

func (anthropic) stop(o *output, n int) error {
	return o.data("content_block_stop", m{"type": "content_block_stop", "index": n})
}
