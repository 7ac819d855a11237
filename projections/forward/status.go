package forward

import "context"

// Status tells how far the target has come. If another process sends, it tells what the
// checkpoint says, and knows of no trouble.
func (s *Sender) Status(ctx context.Context) (Status, error) {
	head, err := s.c.Log.Head(ctx)
	if err != nil {
		return Status{}, err
	}
	s.mu.Lock()
	out, owner := s.status, s.sending
	s.mu.Unlock()
	if out.Position, err = s.cursor.position(ctx, owner || s.c.DB.Single()); err != nil {
		return Status{}, err
	}
	out.Lag = max(head-out.Position, 0)
	return out, nil
}

func (s *Sender) owns(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = yes
	if !yes {
		s.status.Trouble, s.gaveUp = "", false
	}
}

// failed notes why nothing goes on. The log of the process hears of it once, until the
// target takes something again.
func (s *Sender) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	before := s.status.Trouble
	s.status.Trouble = err.Error()
	s.mu.Unlock()
	if before == "" {
		s.c.Logger.Warn("cannot send events, trying again", "target", s.c.Name, "error", err)
	}
}

// count adds what a sink has done. Trouble ends with the next message that is accepted; with
// any progress, if nothing was given up.
func (s *Sender) count(done Done, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Messages += int64(done.Messages)
	s.status.GivenUp += int64(done.GivenUp)
	s.gaveUp = s.gaveUp && done.Messages == 0 || done.GivenUp > 0
	if err == nil && s.status.Trouble != "" && !s.gaveUp {
		s.status.Trouble = ""
		s.c.Logger.Info("events are sent again", "target", s.c.Name)
	}
}
