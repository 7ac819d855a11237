package scripted

type openAI struct{}

type m = map[string]any

func (openAI) usage(r Reply) m {
	if r.Usage == nil && r.Cost == nil {
		return nil
	}
	u := m{}
	if r.Usage != nil {
		u["prompt_tokens"], u["completion_tokens"] = r.Usage[0], r.Usage[1]
		u["total_tokens"] = r.Usage[0] + r.Usage[1]
	}
	if r.Cached != nil {
		u["prompt_tokens_details"] = m{"cached_tokens": r.Cached[0], "cache_write_tokens": r.Cached[1]}
	}
	if r.Cost != nil {
		u["cost"] = usd(*r.Cost)
	}
	return u
}

func (openAI) callObject(c Call, arguments string) m {
	return m{"id": c.ID, "type": "function", "function": m{"name": c.Tool, "arguments": arguments}}
}

func (d openAI) whole(r Reply, model string) any {
	message := m{"role": "assistant", "content": r.Text}
	if len(r.Calls) > 0 {
		if r.Text == "" {
			message["content"] = nil
		}
		var calls []m
		for _, c := range r.Calls {
			calls = append(calls, d.callObject(c, c.Arguments))
		}
		message["tool_calls"] = calls
	}
	out := m{
		"id": "scripted", "object": "chat.completion", "created": 0, "model": model, "system_fingerprint": "scripted",
		"choices": []m{{"index": 0, "message": message, "finish_reason": r.reason()}},
	}
	if u := d.usage(r); u != nil {
		out["usage"] = u
	}
	return out
}

// chunk is one piece of a stream.
func (openAI) chunk(o *output, delta m, reason any) error {
	return o.data("", m{
		"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": o.model, "system_fingerprint": "scripted",
		"choices": []m{{"index": 0, "delta": delta, "finish_reason": reason}},
	})
}

func (d openAI) begin(o *output, _ Reply, _ string) error {
	return d.chunk(o, m{"role": "assistant", "content": ""}, nil)
}

func (d openAI) text(o *output, piece string) error {
	return d.chunk(o, m{"content": piece}, nil)
}

func (d openAI) call(o *output, n int, c Call) error {
	first := d.callObject(c, "")
	first["index"] = n
	if err := d.chunk(o, m{"tool_calls": []m{first}}, nil); err != nil {
		return err
	}
	for _, piece := range pieces(c.Arguments, argumentsChunkRunes) {
		more := m{"index": n, "function": m{"arguments": piece}}
		if err := d.chunk(o, m{"tool_calls": []m{more}}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (d openAI) end(o *output, r Reply) error {
	if err := d.chunk(o, m{}, r.reason()); err != nil {
		return err
	}
	if u := d.usage(r); u != nil {
		err := o.data("", m{
			"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": o.model, "system_fingerprint": "scripted",
			"choices": []m{}, "usage": u,
		})
		if err != nil {
			return err
		}
	}
	return o.write([]byte("data: [DONE]\n\n"))
}
