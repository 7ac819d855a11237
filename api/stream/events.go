package stream

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"hecate/api/feed"
)

// What the cross-run stream says besides events.
const (
	hello     = ": ok\n\n"
	heartbeat = ": heartbeat\n\n"
	failed    = "event: error\ndata: {\"error\":{\"message\":\"the event log cannot be read; reconnect with the last id\"}}\n\n"
)

// Events serves the cross-run stream.
type Events struct {
	Hub *feed.Hub
	Log *slog.Logger
}

// Serve sends the events that f chooses after a sequence, until the client leaves or
// the server stops.
func (e *Events) Serve(ctx context.Context, w http.ResponseWriter, after int64, f feed.Filter) {
	done := e.Hub.Open()
	defer done()
	out, err := open(w, hello)
	if err != nil {
		return
	}
	beat := time.NewTimer(beatGap)
	defer beat.Stop()
	for {
		news := e.Hub.After(after)
		if news.Closed || ctx.Err() != nil {
			return
		}
		items, upTo := news.Items, news.Head
		if news.Behind {
			if items, upTo, err = e.Hub.Page(ctx, after, f); err != nil {
				e.giveUp(ctx, out, err)
				return
			}
		}
		if out.sendItems(items, f) != nil || out.beat(heartbeat) != nil {
			return
		}
		if after < upTo {
			after = upTo
			continue
		}
		beat.Reset(out.untilBeat())
		select {
		case <-ctx.Done():
			return
		case <-news.Changed:
		case <-beat.C:
		}
	}
}

// giveUp tells the client to come back. The cause goes to the log.
func (e *Events) giveUp(ctx context.Context, out *writer, err error) {
	if ctx.Err() != nil {
		return
	}
	e.Log.ErrorContext(ctx, "event stream: read the log", "error", err)
	_ = out.send([]byte(failed)) // nobody else to tell
}

// sendItems sends those of the items that f chooses, as one write.
func (s *writer) sendItems(items []*feed.Item, f feed.Filter) error {
	var frames [][]byte
	for _, i := range items {
		if f.Match(i) {
			frames = append(frames, i.Frame())
		}
	}
	if len(frames) == 0 {
		return nil
	}
	return s.send(frames...)
}
