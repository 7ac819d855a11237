package relay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"hecate/eventstore"
)

// reader delivers the log to one subscription.
type reader struct {
	*Subscriber
	topic string
	out   chan<- *message.Message
}

// run delivers until ctx ends or the log is closed. What goes wrong is tried again from the checkpoint.
func (r *reader) run(ctx context.Context) {
	pause := pauseMin
	for {
		progress, err := r.fromCheckpoint(ctx)
		if ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed) {
			return
		}
		if progress {
			pause = pauseMin
		}
		r.logger.Error("The log is delivered again from the checkpoint", err, watermill.LogFields{"topic": r.topic, "pause": pause})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, pauseMax)
	}
}

// fromCheckpoint delivers batch after batch until one is refused or an error
// occurs. progress reports whether any was accepted.
func (r *reader) fromCheckpoint(ctx context.Context) (progress bool, err error) {
	after, err := r.checkpoint(ctx, r.topic)
	if err != nil {
		return false, fmt.Errorf("read checkpoint of %s: %w", r.topic, err)
	}
	for {
		batch, err := r.next(ctx, after)
		if err != nil {
			return progress, err
		}
		if err := r.deliver(ctx, batch); err != nil {
			return progress, err
		}
		progress, after = true, batch[len(batch)-1].Position
	}
}

// next waits for records behind the given position.
func (r *reader) next(ctx context.Context, after int64) ([]eventstore.Record, error) {
	for {
		batch, err := r.log.ReadAll(ctx, after, r.batchMax)
		if err != nil {
			return nil, err
		}
		if len(batch) == 0 {
			if err := r.log.Wait(ctx, after); err != nil {
				return nil, err
			}
			continue
		}
		// A skipped record would be lost to this reader for good, so rather stop.
		if batch[0].Position != after+1 {
			return nil, fmt.Errorf("the log goes on at %d after %d", batch[0].Position, after)
		}
		return batch, nil
	}
}

// deliver hands out one batch and waits for the answer.
func (r *reader) deliver(ctx context.Context, batch []eventstore.Record) error {
	first, last := batch[0].Position, batch[len(batch)-1].Position
	msg := message.NewMessage(strconv.FormatInt(first, 10)+"-"+strconv.FormatInt(last, 10), nil)
	own, stop := context.WithCancel(context.WithValue(ctx, batchKey{}, batch))
	defer stop()
	msg.SetContext(own)
	select {
	case r.out <- msg:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-msg.Acked():
		return nil
	case <-msg.Nacked():
		return fmt.Errorf("records %d to %d were refused", first, last)
	case <-ctx.Done():
		return ctx.Err()
	}
}
