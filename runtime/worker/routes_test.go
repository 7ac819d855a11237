package worker_test

import (
	"context"
	"testing"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model"
	"hecate/runtime/worker"
)

// slowToList is a router whose provider says which models it has when it is told to.
type slowToList struct {
	*node
	waits, listed chan struct{}
}

func newSlowToList(t *testing.T) *slowToList {
	return &slowToList{newNode(t, replies(text("done"))), make(chan struct{}, 9), make(chan struct{})}
}

func (s *slowToList) Candidates(ctx context.Context, provider, name string) ([]model.Route, error) {
	select {
	case <-s.listed:
		return s.node.Candidates(ctx, provider, name)
	default:
		return nil, &model.RouteError{Fault: fault.Unavailable("models_pending", "nobody has said"), Pending: true}
	}
}

func (s *slowToList) AwaitModels(ctx context.Context) {
	s.waits <- struct{}{}
	select {
	case <-s.listed:
	case <-ctx.Done():
	}
}

func (s *slowToList) settings(c *worker.Config) { c.Router = s }

// A run that names no model waits for the first list of models, and says so.
func TestARunWaitsForTheFirstListOfModels(t *testing.T) {
	t.Parallel()
	s := newSlowToList(t)
	r := s.start(task.Definition{Prompt: event("go")})
	defer s.run(s.executor, s.settings)()
	<-s.waits
	if w := payloads[run.Warned](s.node, r.RunID); len(w) != 1 || w[0].Code != run.WarnModelsAwaited {
		t.Errorf("it waits and says %+v", w)
	}
	close(s.listed)
	if end := s.end(r.RunID); end.Status != run.StatusCompleted || len(payloads[run.ModelCallFailed](s.node, r.RunID)) > 0 {
		t.Errorf("the run is %s: %s", end.Status, s.types(r.RunID))
	}
}

// The wait ends with the run, and with the process: then the run goes on in the next one.
func TestAWaitForModelsCanBeEnded(t *testing.T) {
	t.Parallel()
	s := newSlowToList(t)
	r := s.start(task.Definition{Prompt: event("go")})
	stop := s.run(s.executor, s.settings)
	<-s.waits
	stop()
	if st := s.state(r.RunID); st.Status.Terminal() || len(payloads[run.ModelCallFailed](s.node, r.RunID)) > 0 {
		t.Fatalf("after a stop the run is %s: %s", st.Status, s.types(r.RunID))
	}
	defer s.run(s.executor, s.settings)()
	<-s.waits
	s.cancel(r)
	if end := s.end(r.RunID); end.Status != run.StatusCancelled || len(payloads[run.Warned](s.node, r.RunID)) != 1 {
		t.Errorf("the run is %s: %s", end.Status, s.types(r.RunID))
	}
}
