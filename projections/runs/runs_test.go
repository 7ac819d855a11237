package runs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
	"hecate/projections/runs"
)

// Each story reads as the contract says.
func TestStories(t *testing.T) {
	for name, story := range projectiontest.Stories() {
		t.Run(name, func(t *testing.T) {
			log := projectiontest.New(t)
			log.AddAll(story.Facts)
			r, v := project(t, log, memory(t))
			if name == "deleted" {
				notFound(t, v, story)
				nothingLeft(t, r)
				return
			}
			if name != "large" { // TestLargeTexts
				golden(t, name, encode(t, ask(t, v, story.TaskID)))
			}
		})
	}
}

func notFound(t *testing.T, v *runs.Views, s *projectiontest.Story) {
	t.Helper()
	ctx := context.Background()
	errs := map[string]error{}
	_, errs["task"] = v.Task(ctx, s.TaskID)
	_, errs["runs"] = v.Runs(ctx, s.TaskID)
	_, errs["run"] = v.Run(ctx, s.TaskID, s.RunID)
	_, errs["steps"] = v.Steps(ctx, s.TaskID, s.RunID)
	_, errs["artifacts"] = v.Artifacts(ctx, s.TaskID, s.RunID)
	_, errs["approvals"] = v.TaskApprovals(ctx, s.TaskID)
	_, errs["snapshot"] = v.Snapshot(ctx, s.TaskID, s.RunID, true)
	for what, err := range errs {
		if f, ok := fault.Of(err); !ok || f.Kind != fault.KindNotFound {
			t.Errorf("%s of a deleted task: %v", what, err)
		}
	}
}

// nothingLeft demands that a model whose only task was deleted has no rows.
func nothingLeft(t *testing.T, r *runner.Runner) {
	t.Helper()
	for _, table := range []string{"tasks", "runs", "steps", "artifacts", "parts", "approvals", "messages", "inherited"} {
		var rows int64
		err := r.View(t.Context(), runs.Name, func(tx *readdb.Tx) error {
			_, err := tx.One(t.Context(), `SELECT count(*) FROM hecate_view_`+table+`_@`, nil, &rows)
			return err
		})
		if err != nil || rows != 0 {
			t.Errorf("%s: %d rows, %v", table, rows, err)
		}
	}
}

// However the log is cut into batches, every answer is the same.
func TestBatchesDoNotMatter(t *testing.T) {
	for seed := range uint64(4) {
		log := projectiontest.New(t)
		mixed(t, log, seed)
		_, whole := project(t, log, memory(t))
		want := askAll(t, whole)
		for _, size := range []int{1, 2, 3, 7, 40} {
			t.Run(fmt.Sprintf("seed %d, up to %d", seed, size), func(t *testing.T) {
				_, v := project(t, &projectiontest.Chopped{Store: log, Random: rand.New(rand.NewPCG(seed, 2)), Max: size}, memory(t))
				if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
					t.Errorf("whole, then in pieces:\n%s", diff)
				}
			})
		}
	}
}

// The filters of the list, newest first.
func TestTaskList(t *testing.T) {
	log := projectiontest.New(t)
	for _, name := range []string{"untouched", "waiting", "answers", "deleted", "cancelled"} {
		log.AddAll(projectiontest.Stories()[name].Facts)
	}
	_, v := project(t, log, memory(t))
	none, project := "", "p1"
	for _, c := range []struct {
		filter runs.TaskFilter
		want   []string
	}{
		{runs.TaskFilter{}, []string{"task_cancelled", "task_answers", "task_waiting", "task_untouched"}},
		{runs.TaskFilter{Limit: 2}, []string{"task_cancelled", "task_answers"}},
		{runs.TaskFilter{Status: "completed"}, []string{"task_answers"}},
		{runs.TaskFilter{Status: "awaiting_approval"}, []string{"task_waiting"}},
		{runs.TaskFilter{Status: "not_started"}, []string{"task_untouched"}},
		{runs.TaskFilter{Status: "running", ProjectID: &project}, []string{"task_cancelled"}},
		{runs.TaskFilter{ProjectID: &none}, []string{}},
		{runs.TaskFilter{Status: "nonsense"}, []string{}},
	} {
		tasks := must[runs.TaskPage](t)(v.Tasks(context.Background(), c.filter)).Tasks
		got := []string{}
		for _, task := range tasks {
			got = append(got, task.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.filter, diff)
		}
	}
}

// A run of another task is not found, nor are things of another run.
func TestWrongParents(t *testing.T) {
	log := projectiontest.New(t)
	answers, blocked := projectiontest.Stories()["answers"], projectiontest.Stories()["blocked"]
	log.AddAll(answers.Facts)
	log.AddAll(blocked.Facts)
	_, v := project(t, log, memory(t))
	ctx := context.Background()
	patch := must[[]projections.Patch](t)(v.Patches(ctx, blocked.TaskID, blocked.RunID))[0]
	if got := must[projections.Patch](t)(v.Patch(ctx, blocked.TaskID, blocked.RunID, patch.Artifact.ID)); got.Diff == "" || got.Diff != patch.Diff {
		t.Errorf("the patch alone reads %q", got.Diff)
	}
	step := must[[]projections.Step](t)(v.Steps(ctx, answers.TaskID, answers.RunID))[1]
	if got := must[projections.Step](t)(v.Step(ctx, answers.TaskID, answers.RunID, step.ID)); got.Index != 2 {
		t.Errorf("step %s has index %d", step.ID, got.Index)
	}
	errs := map[string]error{}
	_, errs["run"] = v.Run(ctx, answers.TaskID, blocked.RunID)
	_, errs["step"] = v.Step(ctx, blocked.TaskID, blocked.RunID, step.ID)
	_, errs["patch"] = v.Patch(ctx, answers.TaskID, answers.RunID, patch.Artifact.ID)
	_, errs["patch of another kind"] = v.Patch(ctx, answers.TaskID, answers.RunID, "convo-"+answers.RunID)
	_, errs["artifact"] = v.Artifact(ctx, answers.TaskID, answers.RunID, patch.Artifact.ID)
	_, errs["approval"] = v.Approval(ctx, answers.TaskID, "approval_x")
	for what, err := range errs {
		if f, ok := fault.Of(err); !ok || f.Kind != fault.KindNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// While an answer arrives, the conversation ends with what is there of it.
func TestPartialAnswer(t *testing.T) {
	log := projectiontest.New(t)
	story := projectiontest.Stories()["cancelled"]
	log.AddAll(story.Facts)
	r, _ := project(t, log, memory(t))
	v := runs.NewViews(r, log, func(_ context.Context, runID string) (string, bool) { return "half of " + runID, true })
	messages := must[[]projections.Message](t)(v.Conversation(context.Background(), story.TaskID, story.RunID))
	if last := messages[len(messages)-1]; last.Role != "assistant" || last.Content != "half of "+story.RunID {
		t.Errorf("the last message is %+v", last)
	}
	a := must[projections.Artifact](t)(v.Artifact(context.Background(), story.TaskID, story.RunID, "convo-"+story.RunID))
	if a.Status != "streaming" || a.SHA256 != "" {
		t.Errorf("status %q, digest %q", a.Status, a.SHA256)
	}
}

// So does one that was inherited.
func TestPartialAnswerAfterInheritedMessages(t *testing.T) {
	log := projectiontest.New(t)
	story := projectiontest.Stories()["repaired"]
	log.AddAll(story.Facts)
	r, _ := project(t, log, memory(t))
	v := runs.NewViews(r, log, func(context.Context, string) (string, bool) { return "half", true })
	var got []string
	for _, m := range must[[]projections.Message](t)(v.Conversation(t.Context(), story.TaskID, story.RunID)) {
		got = append(got, m.Role+" "+m.Content)
	}
	want := []string{"system you work in /ws", "user please repair", "assistant ", "tool a", "assistant half"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Large texts are not copied to the runs that inherit them and read the same there.
func TestInheritedLargeTexts(t *testing.T) {
	log := projectiontest.New(t)
	story := projectiontest.Stories()["large"]
	before := story.RunID
	inherited, err := story.State().Continue("more")
	if err != nil {
		t.Fatal(err)
	}
	story.Follow(run.SourceContinue, 0, "session_prompt", inherited)
	log.AddAll(story.Facts)
	_, v := project(t, log, memory(t))
	want := must[[]projections.Message](t)(v.Conversation(t.Context(), story.TaskID, before))
	want = append(want, projections.Message{Role: "user", Content: "more"})
	if diff := cmp.Diff(want, must[[]projections.Message](t)(v.Conversation(t.Context(), story.TaskID, story.RunID))); diff != "" {
		t.Errorf("-want +got:\n%.2000s", diff)
	}
}

// Runs that have not ended are counted, with the age of their status.
func TestRunStats(t *testing.T) {
	log := projectiontest.New(t)
	for _, name := range []string{"stranded", "answers", "retried", "repaired", "waiting", "deleted"} {
		log.AddAll(projectiontest.Stories()[name].Facts)
	}
	_, v := project(t, log, memory(t))
	end := projectiontest.Start.Add(time.Duration(len(log.Records())) * time.Millisecond)
	got := must[projections.RunStats](t)(v.RunStats(t.Context(), end.Add(time.Minute)))
	want := projections.RunStats{Queued: 2, Running: 1, AwaitingApproval: 1, OldestQueuedSeconds: 60, OldestRunningSeconds: 60, WaitingWorkspace: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := must[projections.RunStats](t)(v.RunStats(t.Context(), projectiontest.Start)); got.OldestQueuedSeconds != 0 {
		t.Errorf("at a time before that: %+v", got)
	}
}

// A process that ends between any two batches changes no answer: what the next one
// knows, it has from the rows.
func TestRestartsDoNotMatter(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 9)
	_, whole := project(t, log, memory(t))
	want := askAll(t, whole)
	head := int64(len(log.Records()))
	for _, step := range []int64{1, 5, 23} {
		t.Run(fmt.Sprint("every ", step), func(t *testing.T) {
			db := memory(t)
			for last := int64(1); last < head; last += step {
				project(t, &projectiontest.UpTo{Store: log, Last: last}, db)
			}
			_, v := project(t, log, db)
			if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
				t.Errorf("in one go, then with restarts:\n%s", diff)
			}
		})
	}
}

// What is built anew, beside the old or from nothing, answers the same to the byte.
func TestRebuildIsIdentical(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 3)
	r, v := project(t, log, memory(t))
	want := askAll(t, v)
	if err := r.Rebuild(context.Background(), "", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
		t.Errorf("before and after a rebuild:\n%s", diff)
	}
	_, other := project(t, log, file(t, filepath.Join(t.TempDir(), "read.db")))
	if diff := cmp.Diff(want, askAll(t, other)); diff != "" {
		t.Errorf("in memory and in a file:\n%s", diff)
	}
}

// Texts of any size and any bytes come back as they went in; the answer of a blob that
// is gone is empty.
func TestLargeTexts(t *testing.T) {
	log := projectiontest.New(t)
	story := projectiontest.Stories()["large"]
	log.AddAll(story.Facts)
	r, v := project(t, log, memory(t))
	ctx := context.Background()
	messages := must[[]projections.Message](t)(v.Conversation(ctx, story.TaskID, story.RunID))
	var sizes []int
	for _, m := range messages {
		sizes = append(sizes, len(m.Content))
	}
	if diff := cmp.Diff([]int{15, 24000, 0, event.InlineMax + 1, 20000}, sizes); diff != "" {
		t.Errorf("sizes of the messages (-want +got):\n%s", diff)
	}
	if got := len(messages[2].ToolCalls[0].Function.Arguments); got <= event.InlineMax {
		t.Errorf("the arguments have %d bytes", got)
	}
	answer := must[projections.Artifact](t)(v.Artifact(ctx, story.TaskID, story.RunID, "final-answer-"+story.RunID))
	if answer.SizeBytes != 20000 || !strings.HasPrefix(answer.ContentText, "an answer ") {
		t.Errorf("the answer has %d bytes: %.20q", answer.SizeBytes, answer.ContentText)
	}
	if out := must[projections.Artifact](t)(v.Artifact(ctx, story.TaskID, story.RunID, "artifact_out")); out.ContentText != "a\x00\xffb" {
		t.Errorf("stdout is %q", out.ContentText)
	}
	erased := runs.NewViews(r, noBlobs{}, nil)
	if answer = must[projections.Artifact](t)(erased.Artifact(ctx, story.TaskID, story.RunID, answer.ID)); answer.ContentText != "" {
		t.Errorf("an erased text reads %.20q", answer.ContentText)
	}
}

type noBlobs struct{}

func (noBlobs) Blob(context.Context, string) ([]byte, error) { return nil, eventstore.ErrNotFound }

// The list over all tasks has what the tasks' own lists have, newest first.
func TestApprovalsOfAllTasks(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 9)
	_, v := project(t, log, memory(t))
	all := must[[]projections.Approval](t)(v.Approvals(t.Context(), runs.ApprovalFilter{Limit: 1000}))
	byTask := map[string][]projections.Approval{}
	for i, a := range all {
		byTask[a.TaskID] = append(byTask[a.TaskID], a)
		if i > 0 && a.Position > all[i-1].Position {
			t.Errorf("%s comes after %s", a.ID, all[i-1].ID)
		}
	}
	for _, task := range must[runs.TaskPage](t)(v.Tasks(t.Context(), runs.TaskFilter{})).Tasks {
		want := must[[]projections.Approval](t)(v.TaskApprovals(t.Context(), task.ID))
		if diff := cmp.Diff(encode(t, want), encode(t, append([]projections.Approval{}, byTask[task.ID]...))); diff != "" {
			t.Errorf("%s (-its own +of all):\n%s", task.ID, diff)
		}
		pending := must[[]projections.Approval](t)(v.Approvals(t.Context(), runs.ApprovalFilter{Status: "pending", TaskID: task.ID, Limit: 10}))
		for _, a := range want {
			if waits := slices.ContainsFunc(pending, func(p projections.Approval) bool { return p.ID == a.ID }); waits != (a.Status == "pending") {
				t.Errorf("%s is %s, listed as waiting: %v", a.ID, a.Status, waits)
			}
		}
	}
}
