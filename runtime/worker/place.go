package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hecate/commands"
	"hecate/domain/run"
	"hecate/eventstore"
)

// places are where this process can work. A run goes on only in a process that
// reaches the place where its workspace stands.
type places struct {
	isolated string   // the directory of isolated workspaces, by the mark in it
	host     string   // this machine
	shared   []string // directories that other machines reach by the same path
}

const sharedPrefix = "shared_"

// all names what the process reaches.
func (p places) all() []string {
	out := []string{p.isolated, p.host}
	for _, dir := range p.shared {
		out = append(out, sharedPrefix+dir)
	}
	return out
}

// of names the place where a run that begins here has its workspace.
func (p places) of(sp run.Spec) string {
	if sp.WorkspaceMode != "in_place" {
		return p.isolated
	}
	for _, dir := range p.shared {
		if rel, err := filepath.Rel(dir, sp.WorkingDirectory); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return sharedPrefix + dir
		}
	}
	return p.host
}

func (p places) reach(place string) bool {
	return place == "" || slices.Contains(p.all(), place)
}

// sourceMissing reports whether a run that has not begun needs a directory that is
// not on this machine, and may be on another.
func sourceMissing(s *run.State) bool {
	dir := s.Spec.WorkingDirectory
	if s.Spec.Repo != "" && s.Spec.WorkspaceMode != "in_place" {
		dir = s.Spec.Repo
	}
	if s.Reach != "" || !filepath.IsAbs(dir) {
		return false
	}
	info, err := os.Stat(dir)
	return err != nil || !info.IsDir()
}

// courtesy is how long a process whose machine lacks a run's source lets others go first.
const courtesy = 2 * time.Second

// letOthers leaves a run whose source is not here to other nodes for a while.
func (p *Pool) letOthers(ctx context.Context, s *run.State) bool {
	if p.LeaseTTL == 0 || !sourceMissing(s) {
		return false
	}
	p.mu.Lock()
	since, known := p.deferred[s.ID]
	waits := !known || time.Since(since) < courtesy
	if !known {
		p.deferred[s.ID] = time.Now()
	} else if !waits {
		delete(p.deferred, s.ID)
	}
	p.mu.Unlock()
	if !known {
		p.offerLater(ctx, s.ID, courtesy)
	}
	return waits
}

// cannotReach notes that a run's workspace stands elsewhere. If no live worker
// reaches it, the run says that it waits for one.
func (p *Pool) cannotReach(ctx context.Context, s *run.State) error {
	p.mu.Lock()
	p.elsewhere[s.ID] = true
	p.mu.Unlock()
	if s.Waiting || s.Status.Terminal() {
		return nil
	}
	live, err := p.Store.Workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range live {
		if slices.Contains(w.Reach, s.Reach) {
			return nil
		}
	}
	message := "no running worker reaches the run's workspace; it goes on when the node that has it is back"
	if s.Claim != nil {
		message = "no running worker reaches the run's workspace; it goes on when node " + s.Claim.NodeID + " is back"
	}
	_, err = p.Executor.Advance(ctx, commands.Meta{Actor: eventstore.Actor{Kind: "system", Name: p.NodeID}}, s, run.Disconnected{
		Reason: "workspace_unreachable", Action: run.ActionWaiting, Message: message, PriorStatus: s.Status,
		RecoveredStatus: run.StatusQueued, RecoveryStrategy: "periodic_requeue",
	})
	return err
}
