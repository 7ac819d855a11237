package main

// auditCommand is "hecate audit": questions about what happened, who allowed it, and
// whether the log still says what it said.
type auditCommand struct {
	Log auditLog `cmd:"" help:"Print the events of the whole log that match filters."`
	Who auditWho `cmd:"" help:"Say who allowed a call of a tool, and by which rule."`

	Verify     auditVerify     `cmd:"" help:"Find out whether anything in the log was altered."`
	Export     auditExport     `cmd:"" help:"Write a part of the log into a file that proves itself."`
	Erase      auditErase      `cmd:"" help:"Take away what events say, and leave that they were there."`
	Checkpoint auditCheckpoint `cmd:"" help:"Print the newest signed checkpoint, to keep it elsewhere."`
	Key        auditKey        `cmd:"" help:"Print the public keys that checkpoints are checked with, or change the key."`
}
