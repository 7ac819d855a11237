package main

// auditCommand is "hecate audit": questions about what happened, who allowed it, and
// whether the log still says what it said.
type auditCommand struct {
	Log auditLog `cmd:"" help:"Print events of all runs that match filters."`
}
