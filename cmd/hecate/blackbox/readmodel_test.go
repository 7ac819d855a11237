//go:build linux

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notFromReadModels are the GETs of the document that no rebuild can change, and why.
var notFromReadModels = map[string]string{
	"/healthz":                  "says the time",
	api + "/whoami":             "says who asks",
	api + "/system/projections": "says how far each read model is",
	api + "/system/stats":       "says the time, and which processes are alive",
	api + "/providers/status":   "says what this process knows of the providers",
	api + "/providers/history":  "says what this process has seen of the providers",
	api + "/tasks/{task_id}/runs/{run_id}/operations/{operation_id}": "comes from the log",
	api + "/audit/tasks/{task_id}":                                   "is a fold of the log",
	api + "/audit/runs/{run_id}":                                     "is a fold of the log",
	api + "/audit/checkpoint":                                        "grows with the tree over the log",
	api + "/system/retention/runs":                                   "comes from the log",
	api + "/audit/events/{sequence}/proof":                           "grows with the tree over the log",
	api + "/events/stream":                                           "never ends; its events come from the log",
	api + "/tasks/{task_id}/runs/{run_id}/stream":                    "its last frames are the answers that are compared here one by one",
}

// Read models can be thrown away: built anew from the log, they give every answer
// byte for byte as before.
func TestRebuiltReadModelsAnswerTheSame(t *testing.T) {
	t.Parallel()
	for name, env := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, append(env(t), "HECATE_TASK_APPROVAL_POLICIES=UNSET")...)
			before := everyAnswer(t, s, variety(t, s))
			equal(t, "rebuild", s.ask(t, "POST", api+"/system/projections/rebuild", args{}).status/100, 2)
			eventually(t, "the rebuild is over", func() bool { return !rebuilding(t, s) })
			compareAnswers(t, "rebuilt", before, everyAnswer(t, s, paths(before)))
			s.crash(t)
			compareAnswers(t, "after a crash", before, everyAnswer(t, s, paths(before)))
			if name != "sqlite" {
				return
			}
			s.kill()
			removeReadModels(t, s.dir)
			s.start(t)
			eventually(t, "the rebuild is over", func() bool { return !rebuilding(t, s) })
			compareAnswers(t, "after the files were deleted", before, everyAnswer(t, s, paths(before)))
		})
	}
}

func rebuilding(t *testing.T, s *server) bool {
	t.Helper()
	list := s.list(t, api+"/system/projections")
	if len(list) == 0 {
		t.Fatal("no read models")
	}
	for _, p := range list {
		equal(t, "parked streams of "+p.str("name"), p.num("parked"), 0)
		if p.flag("rebuilding") || p.num("lag") > 0 {
			return true
		}
	}
	return false
}

// removeReadModels deletes every database in the data directory but the log.
func removeReadModels(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.db*"))
	removed := 0
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "hecate.db") {
			continue
		}
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
		removed++
	}
	if removed == 0 {
		t.Fatal("there is no file of read models")
	}
}

// variety makes runs of all sorts and returns the path of every answer about them.
func variety(t *testing.T, s *server) []string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	gated := func(r run, decision string) run {
		r.resolve(t, r.parked(t).str("id"), decision).ok(t)
		r.ends(t)
		return r
	}
	shellRun := gated(s.begin(t, sh("echo out; echo err >&2; head -c 40000 /dev/zero | tr '\\0' x; exit 3")), "approve")
	fileRun := gated(s.begin(t, args{"execution_kind": "file", "file_path": "a.txt", "file_content": "é\n\x00\n"}, in(dir)), "approve")
	gated(s.begin(t, args{"execution_kind": "git", "git_command": "status --short"}, in(dir)), "approve")
	gated(s.begin(t, sh("true")), "reject")
	full, _ := s.agentRun(t, []reply{
		costing(asks(call("c1", "file_write", args{"path": "b.txt", "content": "b"}), call("c2", "read_file", args{"path": "none"}), call("c3", "nothing", "{")), 70),
		costing(reply{Text: "done"}, 3),
	}, in(dir))
	gated(full, "approve")
	s.post(t, full.patches(t)["b.txt"]+"/revert", nil)
	blank, _ := s.agentRun(t, []reply{says(" ")})
	blank.ends(t)
	parked, _ := s.agentRun(t, []reply{asks(shell("c1", "true"))})
	parked.parked(t)
	cancelled, c := s.agentRun(t, []reply{{Text: "half of an answer that never comes", HangAfterText: true}})
	c.awaitRequests(t, 1)
	cancelled.cancel(t)
	again := run{s, shellRun.task, s.post(t, shellRun.taskPath()+"/start", nil).str("id")}
	gated(again, "reject")
	s.create(t, sh("true", args{"title": "never started"}))
	deleted := s.create(t, sh("true")).str("id")
	equal(t, "delete", s.ask(t, "DELETE", api+"/tasks/"+deleted, nil).status, 204)
	s.post(t, fileRun.path()+"/events", args{"type": "made.up", "note": "n"})
	return expand(t, s, deleted)
}

// expand fills the paths of the document with everything that exists.
func expand(t *testing.T, s *server, deletedTask string) (out []string) {
	t.Helper()
	ids := map[string][]string{} // path of a collection → ids in it
	document := s.ask(t, "GET", "/openapi.json", nil).ok(t).envelope(t)
	var templates []string
	for path, item := range document.obj("paths") {
		if _, isGet := item.(map[string]any)["get"]; isGet && notFromReadModels[path] == "" {
			templates = append(templates, path)
		}
	}
	slices.Sort(templates)
	for _, template := range templates {
		filled := []string{template}
		for strings.Contains(filled[0], "{") {
			var next []string
			for _, path := range filled {
				collection, rest, _ := strings.Cut(path, "/{")
				_, rest, _ = strings.Cut(rest, "}")
				if _, known := ids[collection]; !known {
					ids[collection] = members(t, s, collection)
				}
				for _, id := range ids[collection] {
					next = append(next, collection+"/"+id+rest)
				}
			}
			if len(next) == 0 {
				t.Fatalf("nothing fills %s", template)
			}
			filled = next
		}
		out = append(out, filled...)
	}
	return append(out, api+"/tasks?limit=0", api+"/tasks?status=failed", api+"/tasks/"+deletedTask, api+"/events?limit=500")
}

func members(t *testing.T, s *server, collection string) (ids []string) {
	t.Helper()
	for _, d := range s.list(t, collection) {
		id := d.str("id")
		if _, patch := d["artifact"]; patch {
			id = d.str("artifact", "id")
		}
		if _, event := d["sequence"]; event {
			id = fmt.Sprint(d.num("sequence"))
		}
		ids = append(ids, id)
	}
	return ids
}

func everyAnswer(t *testing.T, s *server, paths []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range paths {
		a := s.ask(t, "GET", path, nil, "X-Request-Id", "same") // errors repeat it
		out[path] = fmt.Sprintf("%d %s", a.status, a.body)
	}
	return out
}

func paths(answers map[string]string) (out []string) {
	for path := range answers {
		out = append(out, path)
	}
	return out
}

func compareAnswers(t *testing.T, when string, before, after map[string]string) {
	t.Helper()
	differ := 0
	for path, want := range before {
		if after[path] != want {
			if differ++; differ <= 3 {
				t.Errorf("%s: %s\nwas %s\n is %s", when, path, want, after[path])
			}
		}
	}
	if differ > 3 {
		t.Errorf("%s: %d of %d answers differ", when, differ, len(before))
	}
	if len(before) < 60 {
		t.Errorf("only %d answers are compared", len(before))
	}
}
