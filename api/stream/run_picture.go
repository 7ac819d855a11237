package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"hecate/projections"
	"hecate/projections/activity"
)

// A picture holds the whole state of a run, so a picture for every event would cost
// the square of the run's length. The first change is shown at once; after a picture
// the next one is due when all three of these have passed, and shows the newest state:
//
//   - pictureGap,
//   - four times what it took to compose the last one,
//   - as long as its bytes take at pictureRate.
//
// So a follower gets about pictureRate at most, however long the run is. What a person
// waits for, an approval that is asked for or answered, is shown at once. The last
// state is always sent. Events have frames of their own, which are small and which
// nothing holds back.
const (
	pictureGap  = 100 * time.Millisecond
	pictureRate = 64 << 10 // bytes per second
)

// picture is the state of a run at one moment.
type picture struct {
	position int64  // of the last event that it shows
	version  int64  // of the half-finished answer in it, which may be a little newer
	terminal bool   // the run has ended
	members  []byte // run, steps, artifacts, activity and approvals, as members of an object
	made     time.Time
	took     time.Duration
}

// gap is the time to the next picture.
func (p *picture) gap() time.Duration {
	return max(pictureGap, 4*p.took, time.Duration(len(p.members))*time.Second/pictureRate)
}

// shows reports whether the picture is the present one. While an answer streams in, all
// followers of a run share what one of them asked for a moment ago.
func (p *picture) shows(position, version int64) bool {
	return p != nil && p.position == position && (p.version == version || time.Since(p.made) < pictureGap)
}

// live sends a picture if something changed and it is due.
func (c *runClient) live(ctx context.Context) error {
	if !c.dirty || !c.urgent && time.Now().Before(c.due) {
		return nil
	}
	c.due = time.Now().Add(pictureGap)
	if !c.ready(ctx, c.fold.position) {
		return nil // better than steps and approvals that are out of date
	}
	p, err := c.picture(ctx)
	if err != nil || p == nil {
		return err
	}
	if err := c.sendPicture("snapshot", "snapshot", p); err != nil {
		return err
	}
	c.due = time.Now().Add(p.gap())
	c.urgent, c.partial = false, p.version
	c.dirty = c.version() != p.version
	return nil
}

// picture returns the state of the run as it is now, nil if there are events to send
// first. The read models must be ready.
func (c *runClient) picture(ctx context.Context) (*picture, error) {
	return c.room.picture(c.fold.position, c.version(), func() (*picture, error) {
		began := time.Now()
		s, err := c.Views.Snapshot(ctx, c.taskID, c.fold.id, true)
		if err != nil {
			return nil, err
		}
		return c.paint(began, State{Run: c.fold.asOf(s.Run), Steps: s.Steps, Artifacts: s.Artifacts, Approvals: s.Approvals}, s.Notes)
	})
}

func (c *runClient) paint(began time.Time, s State, notes []projections.Note) (*picture, error) {
	s.Activity = activity.Of(s.Run, s.Steps, s.Artifacts, s.Approvals, notes...)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	members := bytes.TrimSuffix(bytes.TrimPrefix(b.Bytes(), []byte("{")), []byte("}\n"))
	now := time.Now()
	return &picture{position: c.fold.position, terminal: c.fold.status.Terminal(), members: members, made: now, took: now.Sub(began)}, nil
}

// sendPicture sends a picture as a frame of the client's own.
func (c *runClient) sendPicture(kind, cause string, p *picture) error {
	sequence := strconv.FormatInt(max(c.after, p.position), 10)
	terminal := ""
	if p.terminal {
		terminal = `"terminal":true,`
	}
	head := "id: " + sequence + "\nevent: " + kind + frameData + `{"sequence":` + sequence + `,` + terminal + `"event_type":"` + cause + `",`
	return c.sent(c.out.send([]byte(head), p.members, []byte("}"+frameEnd)))
}

// runAt returns the run as the read models show it once they have reached a position.
func (c *runClient) runAt(ctx context.Context, position int64) (projections.Run, error) {
	ask := func() (projections.Run, error) { return c.Views.Run(ctx, c.taskID, c.fold.id) }
	if !c.ready(ctx, position) {
		return ask()
	}
	return c.room.run(position, ask)
}
