//go:build linux

package blackbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// personal is what is to be erased. The command puts it together, so that it is its output.
const (
	personal    = "4711 Personal Lane"
	personalOut = "6 x 7 Personal Lane"
)

// What somebody has erased is found in no answer and in no file, all that is left proves itself, and
// read models that are built anew from it answer byte for byte the same.
func TestErasure(t *testing.T) {
	t.Parallel()
	for name, env := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, append(env(t), "HECATE_TASK_APPROVAL_POLICIES=UNSET")...)
			all := variety(t, s)
			r, _ := s.agentRun(t, []reply{asks(shell("c1", "for i in 1 2 3; do printf '%s x %s Personal Lane\\n' 6 7; done")), says("They live at " + personal)}, args{"title": "Write to " + personal})
			r.resolve(t, r.parked(t).str("id"), "approve").ok(t)
			r.becomes(t, "completed")
			s.post(t, r.path()+"/events", args{"type": "crm.noted", "data": args{"address": personal}})
			if text := r.artifact(t, "stdout").str("content_text"); !strings.Contains(text, personalOut) {
				t.Fatalf("the output is %q", text)
			}
			s.ask(t, "POST", api+"/audit/erasures", args{"task_id": r.task}).refused(t, 400, "invalid_request")
			open := 0
			for _, task := range s.list(t, api+"/tasks") {
				a := s.ask(t, "POST", api+"/audit/erasures", args{"task_id": task.str("id"), "reason": "asked by its author"})
				if a.status == 409 {
					open++ // its run waits for a person
					continue
				}
				want{"records": present}.check(t, "erasure", a.ok(t).envelope(t).obj("data"))
			}
			equal(t, "tasks with open runs", open, 1)

			all = append(all, r.path(), r.path()+"/artifacts", r.path()+"/steps", r.path()+"/events", r.taskPath(), api+"/audit/events?limit=500")
			before := everyAnswer(t, s, all)
			for path, answer := range before {
				if strings.Contains(answer, "Personal Lane") {
					t.Errorf("%s still says it: %.300s", path, answer)
				}
			}
			contains(t, "artifacts", before[r.path()+"/artifacts"], "[erased]")
			want{"status": "completed", "model_call_count": 2}.check(t, "the run", r.now(t))
			equal(t, "rebuild", s.ask(t, "POST", api+"/system/projections/rebuild", args{}).status/100, 2)
			eventually(t, "the rebuild is over", func() bool { return !rebuilding(t, s) })
			compareAnswers(t, "rebuilt after the erasure", before, everyAnswer(t, s, paths(before)))
			s.crash(t)
			compareAnswers(t, "after a crash", before, everyAnswer(t, s, paths(before)))
			equal(t, "exit code", s.terminate(t), 0)
			s.verified(t)
			files, err := filepath.Glob(filepath.Join(s.dir, "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				raw, err := os.ReadFile(f)
				if err != nil {
					continue // a directory
				}
				if bytes.Contains(raw, []byte("Personal Lane")) {
					t.Errorf("%s still has it", f)
				}
			}
		})
	}
}
