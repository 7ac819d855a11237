package show

import (
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
)

// permissionEvent writes what came of answers that are remembered, and of looks at
// calls that are repeated.
func (l *Live) permissionEvent(e client.Event) {
	switch e.Type {
	case "permission.changed":
		d := decode[run.PermissionChanged](e)
		if !d.Saved {
			l.note(changed(d))
			return
		}
		l.line(l.style.Green("✓"), terminal.Line(changed(d)), "")
	case "permission.revoked":
		l.note(revoked(decode[run.PermissionRevoked](e)))
	case "repetition.check.started":
		l.wait(checks(decode[run.ProgressCheckStarted](e)), e)
	case "repetition.check.completed":
		l.wait("", e)
		if d := decode[run.ProgressCheckCompleted](e); d.Assessment != repetition.Progress {
			l.note(checked(d))
		}
	}
}

// changed says what was written into a permission file, or why it was not.
func changed(d run.PermissionChanged) string {
	entry := d.Change.Text + " in [" + strings.Replace(d.Change.List, ".", "] ", 1)
	switch {
	case d.Saved && d.Change.Remove:
		return "removed " + entry + " of " + d.File
	case d.Saved:
		return "remembered " + entry + " of " + d.File
	case d.GrantID != "":
		return "not saved, so it holds for this session only: " + entry + ": " + d.Problem
	}
	return "not saved: " + entry + ": " + d.Problem
}

func revoked(d run.PermissionRevoked) string {
	return d.Scope + " is not allowed for this session any more"
}

func checks(d run.ProgressCheckStarted) string {
	return "a look whether " + d.ToolName + " makes progress"
}

// checked says what a fast model thinks of a call that is repeated.
func checked(d run.ProgressCheckCompleted) string {
	text := "the call looks repeated: " + string(d.Assessment)
	if d.Problem != "" {
		return text + "; " + d.Problem
	}
	if len(d.Observations) > 0 {
		text += "; " + strings.Join(d.Observations, "; ")
	}
	return text
}

// lockWait says which lock a call waits for.
func (d toolCall) lockWait() string {
	text := "waiting for " + d.Lock
	if d.HeldBy != "" {
		text += ", held by " + d.HeldBy
	}
	return text
}
