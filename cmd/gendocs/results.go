package main

const (
	commandResult = "`status=` completed, failed or cancelled; `error=` where it is not completed; the first 4000 bytes of standard output and of standard error. " +
		"The whole of both is in artifacts. It may run as long as the task's `timeout_ms` says, 5 s if that says nothing, and write as much as `HECATE_TASK_MAX_OUTPUT_BYTES` allows, then it is ended."
	terminalResult = "`terminal_id=` `running=`, then as it comes to them `exit_code=`, `timeout=true`, `truncated=true`; under `--- output ---` the end of what is kept of its output, " +
		"of which there are 64 KiB. An exit code other than 0 is no error of the call."
	writeResult = "`status=completed` and the bytes written, or `status=failed` with `error=`. The change is a patch of the run, which can be taken back. " +
		"A file may have 15 MiB; a new one gets the mode 0644, others keep theirs, and missing directories are made."
)

// results say how to read what a tool answers, and which limits that has.
var results = map[string]string{
	"exec": commandResult, "shell_exec": commandResult, "git_exec": commandResult, "shell": commandResult, "git": commandResult,
	"terminal_open": terminalResult, "terminal_write": terminalResult, "terminal_read": terminalResult, "terminal_wait": terminalResult, "terminal_kill": terminalResult,
	"file_write": writeResult, "file": writeResult,
	"file_edit": "as of `file_write`; of a proposal `status=proposed` with the artifact of the patch. Line ends and a byte-order mark stay as the file has them. " +
		"A file may have 2 MiB.",
	"apply_patch": "`status=applied` or `proposed`, then a line for each file with the artifact of its patch. All hunks have to fit, each in one piece, or nothing is changed. " +
		"At most 200 files, of 2 MiB each and 16 MiB together.",
	"read_file":     "a line with `path=`, `size=` of the file and `bytes=` shown, then the content. A byte-order mark is not shown. Binary files are refused.",
	"list_dir":      "a line with `path=` and `entries=`, then kind, size and name of each entry, 500 at most (`truncated=500`).",
	"stat":          "one line: `path=`, `type=`, `size=`, `mode=`, `modified=` in UTC, of a link `target=` and where it leads, of a directory `entries=`.",
	"grep":          searchResult + " Then `path:line:text`, of a line 4 KiB. Files over 1 MiB, binary ones and those that are no UTF-8 are left out and counted; 64 MiB are read in all.",
	"glob":          searchResult + " Then the paths, sorted; directories end in `/`.",
	"artifact_read": "a line about the artifact, then its content. Those of other tasks are not found.",
	"git_status":    "a line with `branch=` and `entries=`, then one line for each as `git status --porcelain` has them, 500 at most.",
	"git_diff":      "a line with `path=`, `staged=`, `bytes=` and `truncated=`, then the diff. Nothing that the repository configures is run for it.",
	"blame":         "a line with `path=`, `lines=` of the file and `bytes=`, then commit, author, date and number of each line, 64 KiB at most.",
	"http_request": "a line with `status=`, `url=`, `bytes=` and `content_type=`, then the body, at most `HECATE_TASK_HTTP_MAX_RESPONSE_BYTES`. Any status is a result. " +
		"The connection is made to an address that was checked, no proxy is asked, and no cookies are kept. A redirect to another host ends the call and says where it leads. " +
		"The log has neither query, header values nor body.",
	"web_fetch": "a line with `status=`, `url=`, `content_type=` and `bytes=`, then the text between marks that the page cannot know. The connection is made as by `http_request`; " +
		"a redirect to another host, scheme or port is not followed, and the result says where it leads.",
	"web_search": "a line with `provider=`, `query=`, `results=` and `more_results_available=`, then title, address, description and excerpts of each. " +
		"One request to the provider that the operator has chosen, whose answer may have 64 KiB. There is no such tool without `HECATE_TASK_WEB_SEARCH_PROVIDER`.",
	"config_edit": "what was changed, in which file. It counts from the next call on.",
}

const searchResult = "a line with the pattern, `matches=` found and `rendered_matches=` shown, what was looked through, and why it ended early (`scan_limit=`) or what was left out (`skip_reasons=`). " +
	"`.git`, `node_modules`, `.gocache`, `dist` and `build` are not looked into; 100 000 entries and 64 KiB of text at most."
