// Package builtin holds the tools that every agent has, one file each, and the
// three that run the shell, git and file tasks directly.
package builtin

import (
	"fmt"

	"hecate/domain/run"
	"hecate/tools"
)

// All returns the tools that a model is offered, in the order of the catalogue.
func All() []tools.Tool {
	return []tools.Tool{
		execTool, shellExec, terminalOpen, terminalWrite, terminalRead, terminalWait, terminalKill,
		gitExec, fileWrite, fileEdit, readFile, grep, glob, artifactRead, listDir, stat, gitStatus, gitDiff, blame, applyPatch,
		webFetch, httpRequest, configEdit,
	}
}

// Direct returns the tools that run shell, git and file tasks. A model is never
// offered them.
func Direct() []tools.Tool {
	return []tools.Tool{shell, git, file}
}

// refused is the answer to a call that could not be carried out as asked. The
// text begins with the tool's name.
func refused(env *tools.Env, format string, args ...any) tools.Result {
	return tools.Failure(env.ToolName, env.ToolName+": "+fmt.Sprintf(format, args...))
}

// done is the result of a call that went well.
func done(title, text string) tools.Result {
	return tools.Result{Text: text, Outcome: run.OutcomeCompleted, Title: title}
}
