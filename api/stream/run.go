package stream

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"hecate/api/feed"
	"hecate/projections"
	"hecate/projections/runs"
)

// Waiter waits until the read models show a position.
type Waiter interface {
	WaitFor(ctx context.Context, position int64, models ...string) error
}

// Progress is the text of an answer that is not complete yet. It is news, no fact,
// and gone when the answer is recorded.
type Progress interface {
	// Partial returns what has arrived, and a number that differs whenever it does;
	// version 0 means that no answer is under way.
	Partial(runID string) (text string, version int64)
	// Changed returns a channel that is closed when it is time to ask Partial again,
	// soon after its answer is no longer the present one. It may be closed in vain.
	Changed(runID string) <-chan struct{}
}

// Runs serves the live picture of single runs.
type Runs struct {
	Hub      *feed.Hub
	Feed     *feed.Reader
	Views    *runs.Views
	Models   Waiter
	Progress Progress      // nil if there is none
	Patience time.Duration // how long a picture waits for the read models
	Log      *slog.Logger

	rooms rooms
}

// Frame is the data of one frame.
type Frame struct {
	Sequence  int64  `json:"sequence" doc:"The event's sequence; for a picture of the live state that of the newest event."`
	Terminal  bool   `json:"terminal,omitempty" doc:"The run has ended."`
	EventType string `json:"event_type" doc:"Type of the event that caused the frame; snapshot for a picture of the live state." example:"snapshot"`
	State
	ModelCall *ModelCall `json:"model_call,omitempty" doc:"Only for model.call.completed."`
}

// State is a run with what it made.
type State struct {
	Run       projections.Run        `json:"run"`
	Steps     []projections.Step     `json:"steps,omitempty" doc:"Only in pictures of the live state."`
	Artifacts []projections.Artifact `json:"artifacts,omitempty" doc:"Only in pictures of the live state."`
	Activity  []projections.Activity `json:"activity,omitempty" doc:"Only in pictures of the live state."`
	Approvals []projections.Approval `json:"approvals,omitempty" doc:"Only in pictures of the live state."`
}

// ModelCall is the account of an answered model call.
type ModelCall struct {
	ModelCallIndex        int64  `json:"model_call_index"`
	StepID                string `json:"step_id,omitempty"`
	CostMicroUSD          int64  `json:"cost_micros_usd"`
	RunCumulativeMicroUSD int64  `json:"run_cumulative_cost_micros_usd"`
	TaskCumulativeMicro   int64  `json:"task_cumulative_cost_micros_usd"`
	ToolCalls             int64  `json:"tool_calls,omitempty"`
}

// Serve sends every event of the run after a sequence, and pictures of its live state
// in between, until the run has ended or the client leaves.
func (s *Runs) Serve(w http.ResponseWriter, r *http.Request, taskID, runID string, after int64) {
	out, err := open(w, r, hello)
	if err != nil {
		return
	}
	defer out.close()
	defer s.Hub.Open()()
	room, leave := s.rooms.enter(runID)
	defer leave()
	c := &runClient{
		Runs: s, out: out, room: room, taskID: taskID,
		records: s.Feed.Follow(runID), fold: runFold{id: runID}, after: after, dirty: true,
	}
	ctx := r.Context()
	if err := c.serve(ctx); err != nil && ctx.Err() == nil && !c.gone {
		s.Log.ErrorContext(ctx, "run stream: read the run", "run_id", runID, "error", err)
		_ = out.send([]byte(failed)) // nobody else to tell
	}
}

// runClient is one client of a run's stream.
type runClient struct {
	*Runs
	out     *writer
	room    *room
	taskID  string
	records *feed.Follower
	fold    runFold
	after   int64 // the client has everything up to here
	gone    bool  // a write failed
	sawEnd  bool  // the event that ended the run was sent here

	dirty   bool            // something changed since the last picture
	urgent  bool            // among it is something that a person waits for
	due     time.Time       // of the next picture, if it is not urgent
	partial int64           // version of the text in the last picture
	typing  <-chan struct{} // closed when the text may have changed; nil if that is to be found out
}

const keepAlive = ": keep-alive\n\n"

func (c *runClient) serve(ctx context.Context) error {
	timer := time.NewTimer(beatGap)
	defer timer.Stop()
	var piece []*feed.Item
	for position, begun := c.after, false; ; begun = true {
		news := c.Hub.After(position, piece[:0])
		position, piece = news.Head, news.Items
		if news.Closed || ctx.Err() != nil {
			return nil
		}
		if err := c.catchUp(ctx, news, begun && !news.Behind); err != nil {
			return err
		}
		clear(piece)
		if c.fold.status.Terminal() {
			return c.end(ctx)
		}
		c.listen()
		if err := c.live(ctx); err != nil {
			return err
		}
		if err := c.sent(c.out.beat(keepAlive)); err != nil {
			return err
		}
		timer.Reset(c.untilDue())
		select {
		case <-ctx.Done():
		case <-news.Changed:
		case <-c.typing:
			c.typing = nil
		case <-timer.C:
		}
	}
}

// catchUp sends the events that the client does not have: those that the hub hands
// out, or those of the log if they do not follow on what was sent, or end the run.
// Events that were appended together are then sent together.
func (c *runClient) catchUp(ctx context.Context, news feed.News, follows bool) error {
	if follows {
		records, ok := c.records.Take(news.Items)
		if err := c.sendEvents(ctx, records); err != nil {
			return err
		}
		if ok && !c.fold.status.Terminal() {
			return nil
		}
	}
	return c.drain(ctx)
}

// drain sends what the log has for the client.
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

// listen finds out whether the text of a half-finished answer has changed. It asks
// when it is told to, not with every event, and takes the channel before it looks, so
// that no change falls between.
func (c *runClient) listen() {
	if c.Progress == nil || c.typing != nil {
		return
	}
	c.typing = c.Progress.Changed(c.fold.id)
	c.dirty = c.dirty || c.version() != c.partial
}

// version is that of the half-finished answer.
func (c *runClient) version() int64 {
	if c.Progress == nil {
		return 0
	}
	_, version := c.Progress.Partial(c.fold.id)
	return version
}

// sent notes that the client is gone.
func (c *runClient) sent(err error) error {
	c.gone = c.gone || err != nil
	return err
}

// untilDue is how long the stream may rest.
func (c *runClient) untilDue() time.Duration {
	due := c.out.untilBeat()
	if c.dirty {
		due = min(due, time.Until(c.due))
	}
	return max(due, time.Millisecond)
}
