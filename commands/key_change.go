package commands

import (
	"context"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
)

// KeyResult is what the log says about its keys after a command. Position is that of the
// change, 0 if it had been made before.
type KeyResult struct {
	State    logkey.State
	Position int64
}

// RotateKey records that another key signs the checkpoints of the log, in the old key's words.
// That the statement is true is for the caller to see to; whoever verifies the log does too.
func (x *Executor) RotateKey(ctx context.Context, m Meta, r logkey.Rotated) (KeyResult, error) {
	return x.changeKey(ctx, m, func(s logkey.State) ([]event.Payload, error) { return logkey.Rotate(s, r) })
}

// ReplaceKey records that another key signs in place of one that is lost.
func (x *Executor) ReplaceKey(ctx context.Context, m Meta, r logkey.Replaced) (KeyResult, error) {
	return x.changeKey(ctx, m, func(s logkey.State) ([]event.Payload, error) { return logkey.Replace(s, r) })
}

func (x *Executor) changeKey(ctx context.Context, m Meta, decide func(logkey.State) ([]event.Payload, error)) (KeyResult, error) {
	return once(ctx, x, m, x.recallKey(ctx), func() (KeyResult, error) {
		return retry(ctx, func() (KeyResult, error) {
			s, newest, err := x.loadKey(ctx, func(event.Event) bool { return true })
			if err != nil {
				return KeyResult{}, err
			}
			payloads, err := decide(s)
			if err != nil || len(payloads) == 0 {
				return KeyResult{State: s}, err
			}
			events := x.now(newest.Version, payloads...)
			done, err := x.append(ctx, m.dueTo(newest.Position), part{stream: logkey.Stream, expected: newest.Version, events: events})
			if err != nil {
				return KeyResult{}, err
			}
			for _, e := range events {
				s.Apply(e)
			}
			return KeyResult{State: s, Position: done.Last}, nil
		})
	})
}

// loadKey folds the changes of the key that are wanted, and returns the newest one.
func (x *Executor) loadKey(ctx context.Context, wanted func(event.Event) bool) (s logkey.State, newest event.Event, err error) {
	err = x.Load(ctx, logkey.Stream, 0, func(e event.Event) {
		if wanted(e) {
			s.Apply(e)
			newest = e
		}
	})
	return s, newest, err
}

// recallKey tells what the log said about its keys after the command whose batch is given.
func (x *Executor) recallKey(ctx context.Context) func(eventstore.Appended) (KeyResult, error) {
	return func(done eventstore.Appended) (KeyResult, error) {
		s, _, err := x.loadKey(ctx, func(e event.Event) bool { return e.Position <= done.Last })
		return KeyResult{State: s, Position: done.Last}, err
	}
}
