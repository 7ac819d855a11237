package builtin

import (
	"path/filepath"
	"regexp"

	"hecate/tools"
)

// rtk is the name under which it is run, so that the command finds it as the server did.
const rtk = "rtk"

// withRTK is a shell's argument list as it is started: through rtk if the task's chat wants
// that and there is one. Source: agent runtime text, RTK.
func withRTK(env *tools.Env, argv []string) []string {
	if !usesRTK(env) {
		return argv
	}
	return append([]string{rtk}, argv...)
}

func usesRTK(env *tools.Env) bool {
	return env.RTK && filepath.IsAbs(env.Settings.RTKPath)
}

// rtkShown is what rtk has made of a shell's command, without what look like secrets.
func rtkShown(env *tools.Env, script string) (before, after string) {
	if !usesRTK(env) {
		return "", ""
	}
	argv := []string{"sh", "-lc", redacted(script)}
	return tools.Shown(quoted(argv)), tools.Shown(quoted(withRTK(env, argv)))
}

// secretAssignment is NAME=VALUE where the name says that the value is secret.
var secretAssignment = regexp.MustCompile(
	`(?i)\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|DSN|DATABASE_URL))=(?:\$?'[^']*'|\$?"(?:\\.|[^"\\])*"|\\.|[^\s;|&<>()'"\\])+`)

// redacted is a script without the values of variables that look like secrets.
func redacted(script string) string {
	return secretAssignment.ReplaceAllString(script, "$1=[redacted]")
}
