package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/activity"
	"hecate/projections/runs"
)

// drain sends a frame for every event that the client does not have.
func (c *runClient) drain(ctx context.Context) error {
	for {
		records, err := c.records.Next(ctx)
		if err != nil || len(records) == 0 {
			return err
		}
		if err := c.sendEvents(ctx, records); err != nil {
			return err
		}
	}
}

func (c *runClient) sendEvents(ctx context.Context, records []eventstore.Record) error {
	last := records[len(records)-1].Position
	var now projections.Run
	if last > c.after {
		c.ready(ctx, last)
		var err error
		if now, err = c.Views.Run(ctx, c.taskID, c.fold.id); err != nil {
			return err
		}
	}
	var frames [][]byte
	for i := range records {
		r := &records[i]
		c.fold.apply(r)
		if r.Position <= c.after {
			continue
		}
		f := Frame{Sequence: r.Position, EventType: typeOf(r), Run: c.fold.asOf(now), ModelCall: modelCall(r)}
		f.Terminal = c.fold.status.Terminal()
		c.sawEnd = c.sawEnd || r.Position == c.fold.ended
		b, err := encode("snapshot", f)
		if err != nil {
			return err
		}
		frames = append(frames, b)
	}
	if len(frames) == 0 {
		return nil
	}
	c.after = last
	return c.sent(c.out.send(frames...))
}

// live sends a picture if something changed and the last one is old enough.
func (c *runClient) live(ctx context.Context) error {
	if !c.dirty || time.Since(c.taken) < c.liveGap {
		return nil
	}
	began := time.Now()
	version := c.progressVersion()
	f, err := c.frame(ctx, "snapshot")
	if err != nil {
		return err
	}
	b, err := encode("snapshot", f)
	if err != nil {
		return err
	}
	err = c.sent(c.out.send(b))
	c.dirty, c.taken, c.partial = false, time.Now(), version
	// A long run's picture is large. What it costs bounds how often it is taken.
	c.liveGap = max(liveGapMin, 4*time.Since(began))
	return err
}

// end sends the last picture twice: once more as done.
func (c *runClient) end(ctx context.Context) error {
	cause := "snapshot"
	if c.sawEnd {
		cause = c.fold.endType
	}
	f, err := c.frame(ctx, cause)
	if err != nil {
		return err
	}
	f.Terminal = true
	snapshot, err := encode("snapshot", f)
	if err != nil {
		return err
	}
	done, err := encode("done", f)
	if err != nil {
		return err
	}
	return c.sent(c.out.send(snapshot, done))
}

// frame is the run as it is now.
func (c *runClient) frame(ctx context.Context, cause string) (Frame, error) {
	p, err := c.picture(ctx, c.fold.position)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{
		Sequence: max(c.after, c.fold.position), EventType: cause, Run: c.fold.asOf(p.Run),
		Steps: p.Steps, Artifacts: p.Artifacts, Approvals: p.Approvals,
	}
	f.Activity = activity.Of(f.Run, f.Steps, f.Artifacts, f.Approvals)
	return f, nil
}

// picture asks the read models once they show a position. If they do not get there,
// the picture is the bare run: steps and approvals that are out of date would
// contradict it.
func (c *runClient) picture(ctx context.Context, position int64) (runs.Snapshot, error) {
	if !c.ready(ctx, position) {
		r, err := c.Views.Run(ctx, c.taskID, c.fold.id)
		return runs.Snapshot{Run: r}, err
	}
	return c.Views.Snapshot(ctx, c.taskID, c.fold.id, true)
}

// ready waits for the read models, within limits.
func (c *runClient) ready(ctx context.Context, position int64) bool {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	return c.Models.WaitFor(ctx, position, runs.Name) == nil
}

// encode writes a frame.
func encode(kind string, f Frame) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("id: " + strconv.FormatInt(f.Sequence, 10) + "\nevent: " + kind + "\ndata: ")
	enc := json.NewEncoder(&b) // ends with a line break; inside of JSON there is none
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Object string `json:"object"`
		Data   Frame  `json:"data"`
	}{"task_run_stream_event", f}); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
