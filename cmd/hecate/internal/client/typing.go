package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Typing is what has come so far of an answer that the model of a run is still giving.
type Typing struct {
	At   int64  // the log's position that it belongs to
	Text string // "" while there is none
}

// Typing follows the answers of a run while they come, from a position of the log on. It
// is for somebody who watches: what is missed comes with the events. The sequence ends
// with the run, with ctx, or when the server does not tell.
func (c *Client) Typing(ctx context.Context, task, run string, after int64) iter.Seq[Typing] {
	return func(yield func(Typing) bool) {
		last, failures := Typing{At: after}, 0
		for {
			conn, err := c.openStream(ctx, apiPath+"/tasks/"+url.PathEscape(task)+"/runs/"+url.PathEscape(run)+"/stream?after_sequence="+strconv.FormatInt(last.At, 10),
				http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}})
			heard, ended := false, false
			if err == nil {
				ended = conn.readTyping(&last, yield)
				heard = conn.heard
				conn.close()
			}
			if heard {
				failures = 0
			}
			if failures++; ended || final(err) || failures > failuresMax || !pause(ctx, failures) {
				return
			}
		}
	}
}

// readTyping yields what changes. It reports whether there is no more to come.
func (f *feedConn) readTyping(last *Typing, yield func(Typing) bool) bool {
	frames := newFrameReader(f)
	for {
		fr, err := frames.next()
		if err != nil {
			return final(err)
		}
		if fr.name == "done" {
			return true
		}
		at, err := strconv.ParseInt(fr.id, 10, 64)
		if err != nil || fr.name != "snapshot" {
			continue
		}
		picture, text := typed(fr.data)
		if !picture {
			continue
		}
		changed := text != last.Text
		*last = Typing{max(at, last.At), text}
		if changed && !yield(*last) {
			return true
		}
	}
}

// typed reads the answer that is coming off a frame. It reports whether the frame is a
// picture, in which it would stand.
func typed(data []byte) (picture bool, text string) {
	var body struct {
		Data struct {
			Cause     string `json:"event_type"`
			Artifacts []struct {
				Kind, Status string
				Content      string `json:"content_text"`
			}
		}
	}
	if json.Unmarshal(data, &body) != nil || body.Data.Cause != "snapshot" {
		return false, ""
	}
	for _, a := range body.Data.Artifacts {
		if a.Kind != "agent_conversation" || a.Status != "streaming" {
			continue
		}
		var messages []struct{ Role, Content string }
		if json.NewDecoder(strings.NewReader(a.Content)).Decode(&messages) != nil || len(messages) == 0 {
			continue
		}
		if m := messages[len(messages)-1]; m.Role == "assistant" {
			return true, m.Content
		}
	}
	return true, ""
}
