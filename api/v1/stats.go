package v1

import (
	"context"
	"net/http"

	"hecate/projections"
)

// runtimeStats is how busy the server and the others over the same log are.
type runtimeStats struct {
	CheckedAt     string `json:"checked_at" format:"date-time" doc:"When this was so."`
	QueueDepth    int    `json:"queue_depth" doc:"Runs that no worker has, and that are to be executed."`
	QueueCapacity int    `json:"queue_capacity" doc:"How many of them there can be; 0: as many as there are."`
	QueueBackend  string `json:"queue_backend" doc:"Where the queue is: in the log." enum:"sqlite,postgres,memory"`
	WorkerCount   int    `json:"worker_count" doc:"Runs that this server executes at a time."`
	InFlight      int    `json:"in_flight_jobs" doc:"Runs that a live worker has, on any server."`

	projections.RunStats

	StoreBackend string       `json:"store_backend" doc:"Where the log is." enum:"sqlite,postgres,memory"`
	RunsMax      int          `json:"max_concurrent_runs" doc:"Runs that all servers together execute at a time; 0: as many as they have workers for."`
	Workers      []liveWorker `json:"workers" doc:"The servers whose workers are alive, by node."`
	RTKAvailable bool         `json:"rtk_available" doc:"Whether this server can shorten the output of commands with rtk."`
	RTKPath      string       `json:"rtk_path,omitempty" doc:"Where rtk is."`
}

// liveWorker is one process that executes runs.
type liveWorker struct {
	Node     string `json:"node" doc:"Id of the server's installation, see whoami."`
	Instance string `json:"instance" doc:"Its process; another one after each start."`
	Claims   int    `json:"claims" doc:"Runs that it has."`
}

func (a *API) registerStats() {
	register(a, spec{
		id: "getStats", method: http.MethodGet, path: Base + "/system/stats", tag: "System",
		summary: "Tell how busy the server is",
		description: "The queue, the runs that have not ended, and the workers that share them. Several servers over one database see the same queue. " +
			"A run whose workspace stands on a server that is away waits for that server (`waiting_workspace_runs`).",
		example: map[string]any{"object": "runtime_stats", "data": map[string]any{
			"checked_at": "2026-02-03T09:30:00.000000000Z", "queue_depth": 1, "queue_capacity": 0, "queue_backend": "postgres", "worker_count": 2,
			"in_flight_jobs": 1, "queued_runs": 1, "running_runs": 1, "awaiting_approval_runs": 0, "oldest_queued_age_seconds": 3,
			"oldest_running_age_seconds": 41, "waiting_workspace_runs": 0, "store_backend": "postgres", "max_concurrent_runs": 0,
			"workers":       []any{map[string]any{"node": "runtime_0123456789abcdef01234567", "instance": "instance_5f0c2c6f2a7b4d1e9a3c8b70", "claims": 1}},
			"rtk_available": false,
		}},
	}, a.stats)
}

func (a *API) stats(ctx context.Context, _ *struct{}) (*answer[runtimeStats], error) {
	now := a.Clock.Now()
	runs, err := a.Views.RunStats(ctx, now)
	if err != nil {
		return nil, err
	}
	work, err := a.Commands.Store.WorkStats(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := a.Commands.Store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	s := runtimeStats{
		CheckedAt: projections.FormatTime(now), QueueDepth: work.Waiting, QueueBackend: a.Host.Backend, WorkerCount: a.Host.WorkerCount,
		InFlight: work.Claimed, RunStats: runs, StoreBackend: a.Host.Backend, RunsMax: a.Host.RunsMax,
		Workers: []liveWorker{}, RTKAvailable: a.Host.RTKPath != "", RTKPath: a.Host.RTKPath,
	}
	for _, w := range workers {
		s.Workers = append(s.Workers, liveWorker{Node: w.Node, Instance: w.Instance, Claims: w.Claims})
	}
	return of("runtime_stats", s), nil
}
