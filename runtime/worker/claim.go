package worker

import (
	"context"
	"errors"
	"time"

	"hecate/commands"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools"
)

// claim makes an attempt at a run by taking it for this process; nil if there is
// nothing to do for it here, or not yet. A run that waits for something is looked at
// again while the pool takes runs, which it does until stopping ends.
func (p *Pool) claim(ctx, stopping context.Context, t *tenure, id string) (a *attempt, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, panicked(id, r)
		}
	}()
	a = &attempt{Pool: p, t: t, stopping: stopping.Done(), known: map[string]tools.Tool{}, ready: map[string]prepared{}}
	for _, t := range p.Tools {
		a.known[t.Name] = t
	}
	if err := a.fold(ctx, id); err != nil {
		return nil, ignore(ctx, err)
	}
	if wanted, err := a.wanted(ctx, stopping); err != nil || !wanted {
		return nil, err
	}
	a.epoch, err = p.claimStream(ctx, t, commands.RunStream(id))
	switch {
	case errors.Is(err, eventstore.ErrClaimed):
		return nil, nil
	case errors.Is(err, eventstore.ErrLeaseLost):
		t.lease.End()
		return nil, nil
	case err != nil:
		return nil, ignore(ctx, err)
	}
	if mine, err := a.catchUp(ctx, stopping); err != nil || !mine {
		a.unclaim()
		return nil, ignore(ctx, err)
	}
	if in, err := a.enter(ctx); err != nil || !in {
		a.unclaim()
		if err == nil {
			a.offerLater(stopping, id, lockPause)
		}
		return nil, ignore(ctx, err)
	}
	return a, nil
}

// claimStream claims a run. Those that wait for an execution lock don't count where claims
// are bounded: the run that has the lock may be the one that is to be claimed.
func (p *Pool) claimStream(ctx context.Context, t *tenure, stream string) (epoch int64, err error) {
	epoch, err = p.Store.Claim(ctx, t.instance, stream, p.ClaimsMax)
	if !errors.Is(err, eventstore.ErrBusy) {
		return epoch, err
	}
	x, lookErr := p.waits(ctx)
	if lookErr != nil || len(x.wants) == 0 {
		return epoch, errors.Join(err, lookErr)
	}
	return p.Store.Claim(ctx, t.instance, stream, p.ClaimsMax+len(x.wants))
}

// wanted reports whether this process may go on with the run now.
func (a *attempt) wanted(ctx, stopping context.Context) (bool, error) {
	switch s := a.s; {
	case s.Status.Terminal() || s.Status == run.StatusAwaitingApproval:
		return false, nil
	case !a.places.reach(s.Reach):
		return false, a.cannotReach(ctx, s)
	case !a.settled(s.Source), s.Source != nil && a.t.terminals.Has(s.Source.RunID):
		a.offerLater(stopping, s.ID, drainLook)
		return false, nil
	case a.letOthers(stopping, s):
		return false, nil
	}
	return true, nil
}

// catchUp folds the run anew if another process had it between the fold and the claim:
// it may have made a workspace, and it may have made it elsewhere.
func (a *attempt) catchUp(ctx, stopping context.Context) (mine bool, err error) {
	more, err := a.Store.ReadStream(ctx, commands.RunStream(a.s.ID), a.s.Version, 1)
	if err != nil || len(more) == 0 {
		return err == nil, err
	}
	if err := a.fold(ctx, a.s.ID); err != nil {
		return false, err
	}
	return a.wanted(ctx, stopping)
}

// drainLook is how often it is looked whether the run that another one follows has
// come to rest here.
const drainLook = 20 * time.Millisecond

// unclaim gives back a run that stays open. Of a parked or ended one the claim is gone.
func (a *attempt) unclaim() {
	if a.s.Status != run.StatusRunning && a.s.Status != run.StatusQueued || !a.t.lease.Valid() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), releaseMax)
	defer stop()
	if err := a.Store.Unclaim(ctx, a.t.instance, commands.RunStream(a.s.ID)); err != nil {
		a.Log.Warn("give a run back", "run_id", a.s.ID, "error", err)
	}
}

// mine reports whether the log says that this attempt has the run.
func (a *attempt) mine() bool { return a.s.Claim != nil && a.s.Claim.Epoch == a.epoch }

// othersRun reports whether another worker has taken the run meanwhile: this one had
// lost its place without knowing it, and must not go on.
func (a *attempt) othersRun() bool {
	return !a.s.Status.Terminal() && a.s.Claim != nil && a.s.Claim.Epoch > a.epoch
}

// take says in the log that this attempt has the run now. Who hands a run back gives up
// its claim in the log, so one that still stands there is of a worker that vanished.
func (a *attempt) take() {
	if a.s.Status == run.StatusRunning || a.s.Claim != nil {
		a.stage(a.gap(a.s))
	}
	place := a.s.Reach
	if place == "" {
		place = a.places.of(a.s.Spec)
	}
	a.stage(run.Claimed{NodeID: a.NodeID, Instance: a.t.instance, Epoch: a.epoch, Reach: place, LeaseMS: a.LeaseTTL.Milliseconds()})
}

// gap marks that a run goes on after its attempt vanished: with an earlier process of
// this node, with another node, or in this process because something around it broke.
func (p *Pool) gap(s *run.State) run.Disconnected {
	g := run.Disconnected{
		Reason: "boot_reconcile", Action: run.ActionRequeued, PriorStatus: s.Status,
		RecoveredStatus: run.StatusQueued, RecoveryStrategy: "requeue",
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := s.Claim; c != nil && (c.NodeID != p.NodeID || p.instances[c.Instance]) {
		g.Reason, g.RecoveryStrategy, g.StaleThresholdMS = "worker_lease_expired", "periodic_requeue", c.LeaseMS
		if c.NodeID != p.NodeID {
			g.Message = "taken over from node " + c.NodeID
		}
	}
	if why := p.broken[s.ID]; why != "" {
		g.Message = bound(why)
	}
	return g
}
