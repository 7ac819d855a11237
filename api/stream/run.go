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

// Limits of a run's stream.
const (
	liveGapMin = 100 * time.Millisecond // between two pictures of the live state
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
	// Changed is closed when Partial's answer is no longer the present one.
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
}

// Frame is the data of one frame.
type Frame struct {
	Sequence  int64                  `json:"sequence" doc:"The event's sequence; for a picture of the live state that of the newest event."`
	Terminal  bool                   `json:"terminal,omitempty" doc:"The run has ended."`
	EventType string                 `json:"event_type" doc:"Type of the event that caused the frame; snapshot for a picture of the live state." example:"snapshot"`
	Run       projections.Run        `json:"run"`
	Steps     []projections.Step     `json:"steps,omitempty" doc:"Only in pictures of the live state."`
	Artifacts []projections.Artifact `json:"artifacts,omitempty" doc:"Only in pictures of the live state."`
	Activity  []projections.Activity `json:"activity,omitempty" doc:"Only in pictures of the live state."`
	Approvals []projections.Approval `json:"approvals,omitempty" doc:"Only in pictures of the live state."`
	ModelCall *ModelCall             `json:"model_call,omitempty" doc:"Only for model.call.completed."`
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
func (s *Runs) Serve(ctx context.Context, w http.ResponseWriter, taskID, runID string, after int64) {
	done := s.Hub.Open()
	defer done()
	out, err := open(w, hello)
	if err != nil {
		return
	}
	c := &runClient{Runs: s, out: out, taskID: taskID, records: s.Feed.Follow(runID), fold: runFold{id: runID}, after: after}
	if err := c.serve(ctx); err != nil && ctx.Err() == nil && !c.gone {
		s.Log.ErrorContext(ctx, "run stream: read the run", "run_id", runID, "error", err)
		_ = out.send([]byte(failed)) // nobody else to tell
	}
}

// runClient is one client of a run's stream.
type runClient struct {
	*Runs
	out     *writer
	taskID  string
	records *feed.Follower
	fold    runFold
	after   int64 // the client has everything up to here
	gone    bool  // a write failed
	sawEnd  bool  // the event that ended the run was sent here

	dirty   bool          // something changed since the last picture
	taken   time.Time     // of the last picture
	liveGap time.Duration // grows with what a picture costs
	partial int64         // version of the text in the last picture
}

func (c *runClient) serve(ctx context.Context) error {
	timer := time.NewTimer(beatGap)
	defer timer.Stop()
	first := true
	for position := c.after; ; {
		news := c.Hub.After(position)
		position = news.Head
		if news.Closed || ctx.Err() != nil {
			return nil
		}
		// Taken before looking, so that no change falls between.
		progress := c.progressChanged()
		if first || news.Behind || concerns(news.Items, c.fold.id) {
			if err := c.drain(ctx); err != nil {
				return err
			}
			c.dirty, first = true, false
		}
		if c.fold.status.Terminal() {
			return c.end(ctx)
		}
		c.dirty = c.dirty || c.progressVersion() != c.partial
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
		case <-progress:
		case <-timer.C:
		}
	}
}

const keepAlive = ": keep-alive\n\n"

func concerns(items []*feed.Item, runID string) bool {
	for _, i := range items {
		if i.RunID == runID {
			return true
		}
	}
	return false
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
		due = min(due, c.liveGap-time.Since(c.taken))
	}
	return max(due, time.Millisecond)
}

// progressChanged is nil, and never ready, without progress.
func (c *runClient) progressChanged() <-chan struct{} {
	if c.Progress == nil {
		return nil
	}
	return c.Progress.Changed(c.fold.id)
}

func (c *runClient) progressVersion() int64 {
	if c.Progress == nil {
		return 0
	}
	_, version := c.Progress.Partial(c.fold.id)
	return version
}
