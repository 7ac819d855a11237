package feed

import (
	"hecate/domain/run"
)

// lifecycle is the public data of the events that open, queue and start a run.
// What is empty is left out.
type lifecycle struct {
	Status        run.Status `json:"status,omitempty"`
	Kind          string     `json:"kind,omitempty"`
	Number        int64      `json:"number,omitempty"`
	Model         string     `json:"model,omitempty"`
	Provider      string     `json:"provider,omitempty"`
	ProviderKind  string     `json:"provider_kind,omitempty"`
	WorkspacePath string     `json:"workspace_path,omitempty"`
	WorkerID      string     `json:"worker_id,omitempty"`
	Resume        bool       `json:"resume,omitempty"`
	FromRunID     string     `json:"resume_from_run_id,omitempty"`
	FromStepID    string     `json:"resume_from_step_id,omitempty"`
	FromSequence  int64      `json:"resume_from_event_sequence,omitempty"`
}

func lifecycleOf(kind string, r run.Route) lifecycle {
	return lifecycle{Kind: kind, Model: r.Model, Provider: r.Provider, ProviderKind: r.ProviderKind}
}

// created leaves out what the run works on: the task shows it.
func created(e run.Created) lifecycle {
	l := lifecycleOf(e.Kind, e.Route)
	l.Status, l.Number = e.Status, e.Number
	return l
}

func queued(e run.Queued) lifecycle {
	l := lifecycleOf(e.Kind, e.Route)
	l.Resume = e.Resume
	return l
}

func started(e run.Started) lifecycle {
	l := lifecycleOf(e.Kind, e.Route)
	l.WorkspacePath, l.WorkerID = e.WorkspacePath, e.WorkerID
	if r := e.Resume; r != nil {
		l.FromRunID, l.FromStepID, l.FromSequence = r.RunID, r.StepID, r.Sequence
	}
	return l
}
