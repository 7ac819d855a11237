package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore/relay"
)

const (
	gatherMax    = 10 * time.Millisecond // how far a model that nobody waits for may stay behind to take more at once, if it does not say itself
	crowd        = 256                   // records in one message that say that there are more: nothing needs to gather
	closeMax     = 10 * time.Second      // how long handlers may finish what they do when Run ends
	retriesMax   = 8                     // of a batch that the database refused, before it is read again
	retryFirst   = 20 * time.Millisecond
	retryMax     = 2 * time.Second
	followEvery  = 25 * time.Millisecond // how often a follower looks where the owner is
	takeoverLook = 40                    // looks without progress, with records waiting, after which a follower takes over
)

// Run keeps the models up to date until ctx ends, and returns when all has stopped.
// Streams that were parked get another try first.
func (r *Runner) Run(ctx context.Context) error {
	logger := watermill.NewSlogLoggerWithLevelMapping(r.logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: closeMax}, logger)
	if err != nil {
		return err
	}
	router.AddMiddleware(middleware.Retry{
		MaxRetries: retriesMax, InitialInterval: retryFirst, MaxInterval: retryMax, Multiplier: 2, Logger: logger,
		ShouldRetry: func(p middleware.RetryParams) bool { return !errors.Is(p.Err, errLost) },
	}.Middleware)
	source := relay.New(r.log, r.from, relay.Options{Logger: logger})
	for _, p := range r.models {
		router.AddConsumerHandler(p.model.Name(), p.model.Name(), source, func(m *message.Message) error { return r.handle(p, m) })
	}
	r.prepare(ctx)
	if ctx.Err() == nil {
		err = router.Run(ctx)
	}
	err = errors.Join(err, source.Close(), r.save(context.WithoutCancel(ctx)))
	if err != nil {
		return fmt.Errorf("run projections: %w", err)
	}
	return nil
}

// prepare does what is better done in large pieces. What fails here is tried again,
// piece by piece, by the handlers.
func (r *Runner) prepare(ctx context.Context) {
	var all errgroup.Group
	for _, p := range r.models {
		all.Go(func() error {
			err := r.unpark(ctx, p)
			if err == nil {
				err = r.catchUp(ctx, p)
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
				r.logger.Warn("catching up in small pieces", "model", p.model.Name(), "error", err)
			}
			return nil
		})
	}
	all.Wait() //nolint:errcheck // always nil
}

func (r *Runner) unpark(ctx context.Context, p *projection) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	freed, err := p.live.unpark(ctx, r.log)
	if freed > 0 {
		r.logger.Info("parked streams go on", "model", p.model.Name(), "streams", freed)
	}
	p.show()
	return err
}

// from is where the relay goes on for a model.
func (r *Runner) from(_ context.Context, model string) (int64, error) {
	p, err := r.find(model)
	if err != nil {
		return 0, err
	}
	return p.position(), nil
}

func (r *Runner) handle(p *projection, m *message.Message) error {
	records, ok := relay.Batch(m)
	if !ok {
		return errors.New("a message without records")
	}
	parked := len(*p.parked.Load())
	err := p.deliver(m.Context(), records)
	if errors.Is(err, errLost) {
		return errors.Join(err, r.follow(m.Context(), p))
	}
	if now := *p.parked.Load(); len(now) > parked {
		r.reportParked(p, now, records[0].Position)
	}
	if err == nil && len(records) < crowd {
		p.gate.rest(m.Context(), p.patience())
	}
	return err
}

// patience is how long records may gather for the model.
func (p *projection) patience() time.Duration {
	if m, ok := p.model.(Patient); ok {
		return m.Patience()
	}
	return gatherMax
}

// reportParked tells of streams that were parked from a position on.
func (r *Runner) reportParked(p *projection, streams []Parked, from int64) {
	for _, s := range streams {
		if s.Position >= from {
			r.logger.Error("parked a stream that the read model cannot take", "model", p.model.Name(), "stream", s.Stream, "position", s.Position, "error", s.Error)
		}
	}
}

// follow shows what another process does to the model, until that one stops while
// there is work. Nobody is asked: the checkpoint moves or it does not, and of several
// that try to move it one succeeds.
func (r *Runner) follow(ctx context.Context, p *projection) error {
	if err := r.refresh(ctx, p); err != nil || r.db.Single() {
		return err
	}
	look := time.NewTicker(followEvery)
	defer look.Stop()
	for still := 0; still < takeoverLook; still++ {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		before := p.position()
		if err := r.refresh(ctx, p); err != nil {
			return err
		}
		head, err := r.log.Head(ctx)
		if err != nil {
			return err
		}
		if at := p.position(); at != before || at >= head {
			still = -1
		}
	}
	return nil
}
