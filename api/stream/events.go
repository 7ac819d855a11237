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
func (e *Events) Serve(w http.ResponseWriter, r *http.Request, after int64, f feed.Filter) {
	out, err := open(w, r, hello)
	if err != nil {
		return
	}
	defer out.close()
	defer e.Hub.Open()()
	ctx := r.Context()
	beat := time.NewTimer(beatGap)
	defer beat.Stop()
	var piece []*feed.Item
	for {
		news := e.Hub.After(after, piece[:0])
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
		piece = news.Items
		clear(piece)
		if after < upTo {
			after = upTo
			continue
		}
		beat.Reset(out.untilBeat())
		select {
		case <-ctx.Done():
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

// sendItems sends those of the items that f chooses.
func (s *writer) sendItems(items []*feed.Item, f feed.Filter) error {
	some := false
	for _, i := range items {
		if !f.Match(i) {
			continue
		}
		if err := s.write(i.Frame()); err != nil {
			return err
		}
		some = true
	}
	if !some {
		return nil
	}
	return s.flush()
}
