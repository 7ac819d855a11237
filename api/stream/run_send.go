package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/runs"
)

// sendEvents folds records and sends a frame for each that the client does not have.
func (c *runClient) sendEvents(ctx context.Context, records []eventstore.Record) error {
	var now projections.Run
	if n := len(records); n > 0 && records[n-1].Position > c.after {
		var err error
		if now, err = c.runAt(ctx, records[n-1].Position); err != nil {
			return err
		}
	}
	some := false
	for i := range records {
		r := &records[i]
		c.fold.apply(r)
		if r.Position <= c.after {
			continue
		}
		f := Frame{Sequence: r.Position, EventType: typeOf(r), State: State{Run: c.fold.asOf(now)}, ModelCall: modelCall(r)}
		f.Terminal = c.fold.status.Terminal()
		b, err := encode("snapshot", f)
		if err != nil {
			return err
		}
		if err := c.sent(c.out.write(b)); err != nil {
			return err
		}
		some, c.after = true, r.Position
		c.sawEnd = c.sawEnd || r.Position == c.fold.ended
		c.urgent = c.urgent || urgent[r.Type]
	}
	if !some {
		return nil
	}
	c.dirty = true
	return c.sent(c.out.flush())
}

// urgent are the events whose consequences a person waits for.
var urgent = map[string]bool{
	run.ApprovalRequested{}.EventType(): true,
	run.ApprovalResolved{}.EventType():  true,
	run.AwaitingApproval{}.EventType():  true,
}

// end sends the last picture twice: once more as done. If the read models do not get
// there in time it is the bare run: steps and approvals that are out of date would
// contradict it.
func (c *runClient) end(ctx context.Context) error {
	cause := "snapshot"
	if c.sawEnd {
		cause = c.fold.endType
	}
	last := c.picture
	if !c.ready(ctx, c.fold.position) {
		last = c.bare
	}
	p, err := last(ctx)
	for err == nil && p == nil {
		if err = c.drain(ctx); err == nil {
			p, err = last(ctx)
		}
	}
	if err != nil {
		return err
	}
	if err := c.sendPicture("snapshot", cause, p); err != nil {
		return err
	}
	return c.sendPicture("done", cause, p)
}

func (c *runClient) bare(ctx context.Context) (*picture, error) {
	r, err := c.Views.Run(ctx, c.taskID, c.fold.id)
	if err != nil {
		return nil, err
	}
	return c.paint(time.Now(), State{Run: c.fold.asOf(r)}, nil)
}

// past is a context that is over, for questions that nobody waits for.
var past = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// ready waits for the read models, within limits.
func (c *runClient) ready(ctx context.Context, position int64) bool {
	if c.Models.WaitFor(past, position, runs.Name) == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	return c.Models.WaitFor(ctx, position, runs.Name) == nil
}

// What stands around the data of a frame.
const (
	frameData = "\ndata: {\"object\":\"task_run_stream_event\",\"data\":"
	frameEnd  = "}\n\n"
)

// encode writes a frame.
func encode(kind string, f Frame) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("id: " + strconv.FormatInt(f.Sequence, 10) + "\nevent: " + kind + frameData)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil { // inside of JSON there is no line break
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the encoder's own
	b.WriteString(frameEnd)
	return b.Bytes(), nil
}
