package main

import (
	"bytes"

	"hecate/runtime/model/scripted"
)

const (
	turnAfterEdits = 2                         // the reply that has seen the edits
	turnAfterTests = 3                         // the reply that has seen the test run
	demoPassed     = `ok  \texample.com/stats` // as it stands in the request's JSON
	demoEditedEver = "old_text not found in"   // what an edit says that was made before
)

// demoScript is the model of the demo: what a good one would say and do here. Its
// prices are invented and sent the way providers send theirs.
func demoScript(testCommand string) *scripted.Server {
	reply := func(text string, in, out, costMicroUSD int64, calls ...scripted.Call) scripted.Reply {
		return scripted.Reply{Text: text, Calls: calls, Usage: &[2]int64{in, out}, Cost: &costMicroUSD, DelayMS: 300}
	}
	type args = map[string]any
	runTests := scripted.ToolCall("call_6", "shell_exec", args{"command": testCommand})
	replies := []scripted.Reply{
		reply("First I look at the package and at what its test expects.", 1184, 96, 2_310,
			scripted.ToolCall("call_1", "list_dir", args{"path": "."}),
			scripted.ToolCall("call_2", "read_file", args{"path": "median.go"}),
			scripted.ToolCall("call_3", "grep", args{"pattern": "want", "path": "."})),
		reply("With an even number of values the code takes the upper one of the two in the middle; its own comment says it is their mean. I change that, and add the shortest such series to the test.", 1672, 231, 4_250,
			scripted.ToolCall("call_4", "file_edit", args{"path": "median.go", "old_text": demoBug, "new_text": demoFix}),
			scripted.ToolCall("call_5", "file_edit", args{"path": "median_test.go", "old_text": demoCases, "new_text": demoMoreCases})),
		reply("Now the project's own tests.", 1988, 41, 3_010, runTests),
		reply("They pass. A last look at the whole change.", 2117, 38, 3_180,
			scripted.ToolCall("call_7", "git_diff", args{})),
		reply("The tests pass now. Median took the upper of the two middle values when their number is even; it returns their mean now, as its comment says. I changed median.go, and added a case to median_test.go.", 2489, 71, 3_730),
	}
	again := reply("What is in the workspace stays when a call is made again, so part of it is done already. Now the project's own tests.", 2064, 52, 3_090, runTests)
	failed := reply("The change is made, but the test run did not pass here; its output is above. I stop, so that you can look into it.", 2117, 38, 3_180)
	over := reply("My script ends here. A real model would go on with what you said.", 2560, 18, 2_900)
	return scripted.New(scripted.Script{ByTurn: true, Func: func(n int, r scripted.Request) scripted.Reply {
		switch {
		case n >= len(replies):
			return over
		case n == turnAfterEdits && bytes.Contains(r.Body, []byte(demoEditedEver)):
			return again
		case n == turnAfterTests && !bytes.Contains(r.Body, []byte(demoPassed)):
			return failed
		default:
			return replies[n]
		}
	}})
}
