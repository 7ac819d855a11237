package eventstore

import "context"

// SharedProgress shows the half-finished answers of the models that a node asks to
// the other nodes of the log. It is passing news: it may be lost, nothing is decided
// on it, and the finished answer is a fact of the log. A log that only one process can
// open has no need of it.
type SharedProgress interface {
	// PutProgress shows text, which may be any bytes, as what the run's answer is so
	// far. version differs from that of the text shown before.
	PutProgress(ctx context.Context, runID, text string, version int64) error
	// Progress returns what was shown last for the run, nothing and version 0 if
	// nothing is.
	Progress(ctx context.Context, runID string) (text string, version int64, err error)
	// ProgressVersions returns the runs for which something is shown, with the versions.
	ProgressVersions(ctx context.Context) (map[string]int64, error)
	// DropProgress forgets the run's half-finished answer.
	DropProgress(ctx context.Context, runID string) error
}
