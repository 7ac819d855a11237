package projections

// The kinds of notes.
const (
	NoteCheck      = "repetition_check"  // a fast model looked whether a repeated call makes progress
	NotePermission = "permission_change" // an entry of a permission file, or a grant of the session, was changed
	NoteLock       = "lock_waiting"      // an allowed call waits for an execution lock
)

// Note is something in the course of a run that is neither step nor artifact nor
// approval, and that its time line shows.
type Note struct {
	Kind       string         `json:"kind"`
	Status     string         `json:"status"`
	Title      string         `json:"title"`
	ToolName   string         `json:"tool_name,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Path       string         `json:"path,omitempty"`
	Summary    map[string]any `json:"summary,omitempty"`
	OccurredAt string         `json:"occurred_at"`
	Terminal   bool           `json:"terminal,omitempty"`

	Position int64 `json:"-"` // where in the log it was recorded
}
