package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const chunkRunesDefault = 12

// argumentsChunkRunes is the size of a streamed piece of arguments, which nobody watches.
const argumentsChunkRunes = 2048

var (
	errCut  = errors.New("the script cuts the connection here")
	errLeft = errors.New("the client left")
)

// dialect writes a reply's parts as a provider would.
type dialect interface {
	// whole is the answer in one piece.
	whole(r Reply, model string) any
	// The parts of a stream, in this order: begin, text and call pieces, end.
	begin(o *output, r Reply, model string) error
	text(o *output, piece string) error
	call(o *output, n int, c Call) error
	end(o *output, r Reply) error
}

// output sends one reply.
type output struct {
	w      http.ResponseWriter
	server *Server
	ctx    context.Context //nolint:containedctx // an output lives as long as its request
	model  string
	opened bool // anthropic: a text block is open
}

func (o *output) send(r Reply, q asked, d dialect) error {
	o.model = q.Model
	if err := o.wait(r.delay()); err != nil {
		return err
	}
	for name, value := range r.Headers {
		o.w.Header().Set(name, value)
	}
	switch {
	case r.Hang:
		<-o.ctx.Done()
		return errLeft
	case r.Close:
		return errCut
	case r.HTTP != 0:
		return o.plain(r)
	case r.Stream != nil:
		return o.raw(r)
	case q.Stream:
		return o.stream(r, d)
	}
	return o.whole(r, d)
}

func (o *output) plain(r Reply) error {
	o.contentType("application/json")
	o.w.WriteHeader(r.HTTP)
	var text string
	body := []byte(r.Body)
	if json.Unmarshal(r.Body, &text) == nil {
		body = []byte(text)
	}
	return o.write(body)
}

func (o *output) raw(r Reply) error {
	o.contentType("text/event-stream")
	if r.Split <= 0 {
		if err := o.write(r.Stream); err != nil {
			return err
		}
		return o.breakOff(r)
	}
	for rest := r.Stream; len(rest) > 0; {
		n := min(r.Split, len(rest))
		if err := o.write(rest[:n]); err != nil {
			return err
		}
		o.flush()
		rest = rest[n:]
	}
	return o.breakOff(r)
}

func (o *output) whole(r Reply, d dialect) error {
	o.contentType("application/json")
	body, err := json.Marshal(d.whole(r, o.model))
	if err != nil {
		return err
	}
	if r.HangAfterText || r.CloseAfterText {
		body = body[:len(body)/2]
	}
	if err := o.write(body); err != nil {
		return err
	}
	return o.breakOff(r)
}

func (o *output) stream(r Reply, d dialect) error {
	o.contentType("text/event-stream")
	o.w.Header().Set("Cache-Control", "no-cache")
	if err := d.begin(o, r, o.model); err != nil {
		return err
	}
	size := o.server.ChunkRunes
	if size <= 0 {
		size = chunkRunesDefault
	}
	for _, piece := range pieces(r.Text, size) {
		if err := d.text(o, piece); err != nil {
			return err
		}
		if o.server.ChunkDelay > 0 {
			o.flush()
			if err := o.wait(o.server.ChunkDelay); err != nil {
				return err
			}
		}
	}
	if err := o.breakOff(r); err != nil {
		return err
	}
	for n, c := range r.Calls {
		if err := d.call(o, n, c); err != nil {
			return err
		}
	}
	return d.end(o, r)
}

func (o *output) breakOff(r Reply) error {
	switch {
	case r.HangAfterText:
		return o.hang()
	case r.CloseAfterText:
		o.flush()
		return errCut
	}
	return nil
}

func (o *output) contentType(value string) {
	if o.w.Header().Get("Content-Type") == "" {
		o.w.Header().Set("Content-Type", value)
	}
}

// data sends one event of a stream.
func (o *output) data(event string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	head := "data: "
	if event != "" {
		head = "event: " + event + "\ndata: "
	}
	return o.write([]byte(head + string(body) + "\n\n"))
}

func (o *output) write(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return errLeft
	}
	return nil
}

func (o *output) flush() {
	_ = http.NewResponseController(o.w).Flush() // a writer that cannot flush sends at the end
}

// hang shows what was sent and keeps silent until the client leaves.
func (o *output) hang() error {
	o.flush()
	<-o.ctx.Done()
	return errLeft
}

func (o *output) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-o.ctx.Done():
		return errLeft
	}
}

// pieces cuts a text into parts of n characters; parts never split a character.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > 0 {
		end := 0
		for i := 0; i < n && end < len(text); i++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

// usd writes micro-USD as a decimal number of USD, exactly.
func usd(micro int64) json.Number {
	digits := strconv.FormatInt(micro, 10)
	sign := ""
	if micro < 0 {
		sign, digits = "-", digits[1:]
	}
	if len(digits) <= 6 {
		digits = strings.Repeat("0", 7-len(digits)) + digits
	}
	return json.Number(sign + digits[:len(digits)-6] + "." + digits[len(digits)-6:])
}
