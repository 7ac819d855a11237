package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/task"
)

const auditPath = base + "/audit/events"

// auditAll asks for all pages of what a query finds.
func auditAll(t *testing.T, s *apitest.Server, query url.Values) []feed.Event {
	t.Helper()
	query = copied(query)
	var out []feed.Event
	for {
		var page struct {
			Object string
			Data   []feed.Event
			Before int64 `json:"next_before_sequence"`
			After  int64 `json:"next_after_sequence"`
		}
		a := s.Do(t, "GET", auditPath+"?"+query.Encode(), nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%v: %d %s", query, a.Status, a.Body)
		}
		decodeInto(t, a.Body, &page)
		if page.Object != "audit_events" || page.Data == nil {
			t.Fatalf("%s", a.Body)
		}
		out = append(out, page.Data...)
		switch {
		case page.Before > 0:
			query.Set("before_sequence", fmt.Sprint(page.Before))
		case page.After > 0:
			query.Set("after_sequence", fmt.Sprint(page.After))
		default:
			return out
		}
	}
}

func copied(v url.Values) url.Values {
	out := url.Values{}
	for k, x := range v {
		out[k] = slices.Clone(x)
	}
	return out
}

func story(t *testing.T) *apitest.Server {
	t.Helper()
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	return s
}

// Events are found by what they speak of, whether they are in the feed or not.
func TestAuditFindsEvents(t *testing.T) {
	s := story(t)
	for query, want := range map[string][]string{
		"event_type=ci.build.finished":                                       {"ci.build.finished"},
		"event_type=task.created,task.run.closed":                            {"task.run.closed", "task.created"},
		"path=/tmp/ws/&event_type=tool.file.applied":                         {"tool.file.applied"},
		"path=/src&run_id=" + apitest.RunID:                                  {"workspace.taken"},
		"event_type=workspace.operation.completed&task_id=" + apitest.TaskID: {"workspace.operation.completed"},
		"actor=operator": {},
		"actor=system&event_type=task.budget.raised":         {"task.budget.raised"},
		"run_id=run_unknown":                                 {},
		"to=2026-02-03T09:30:02Z":                            {"task.created"},
		"from=2026-02-03T10:30:02%2B01:00&before_sequence=4": {"run.created", "task.run.opened"},
		"after_sequence=1&before_sequence=4&order=asc":       {"task.run.opened", "run.created"},
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range auditAll(t, s, q) {
			got = append(got, e.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// Every event of the log is there once, in pages of any size and either order, as lines
// as well; those of the feed are the same to the byte.
func TestAuditIsTheWhole(t *testing.T) {
	s := story(t)
	lines := func(query string, headers ...string) []string {
		a := s.Do(t, "GET", auditPath+query, nil, headers...)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/jsonl" {
			t.Fatalf("%d %v", a.Status, a.Header)
		}
		return strings.SplitAfter(string(bytes.TrimSuffix(a.Body, []byte("\n"))), "\n")
	}
	all := lines("?format=jsonl")
	head, err := s.Store.Head(t.Context())
	if err != nil || int64(len(all)) != head {
		t.Fatalf("%d lines, the log has %d records, %v", len(all), head, err)
	}
	byHeader := lines("?order=desc", "Accept", "application/jsonl")
	slices.Reverse(byHeader)
	for i, limit := range []string{"1", "7", "500"} {
		for _, order := range []string{"asc", "desc"} {
			got := auditAll(t, s, url.Values{"limit": {limit}, "order": {order}})
			if order == "desc" {
				slices.Reverse(got)
			}
			for n, e := range got {
				if e.Sequence != int64(n+1) {
					t.Fatalf("%s by %s: %d stands at %d", order, limit, e.Sequence, n)
				}
			}
			if int64(len(got)) != head {
				t.Errorf("try %d: %d events, want %d", i, len(got), head)
			}
		}
	}
	var feedPage struct{ Data []json.RawMessage }
	decodeInto(t, s.Do(t, "GET", base+"/events?limit=500", nil).Body, &feedPage)
	for _, raw := range feedPage.Data {
		var e feed.Event
		decodeInto(t, raw, &e)
		for _, got := range [][]string{all, byHeader} {
			if line := strings.TrimSuffix(got[e.Sequence-1], "\n"); line != string(raw) {
				t.Fatalf("the feed has\n%s\nthe audit has\n%s", raw, line)
			}
		}
	}
}

// What is no filter is refused, and its name stands in the answer.
func TestAuditRefusesBadFilters(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for query, word := range map[string]string{
		"limit=0":              "limit",
		"limit=x":              "limit",
		"after_sequence=-1":    "after_sequence",
		"before_sequence=x":    "before_sequence",
		"from=yesterday":       "from",
		"to=2026-02-30T00:00Z": "to",
		"from=2026-02-03T00:00:00Z&to=2026-02-02T00:00:00Z": "to",
		"host=*.example": "host",
		"order=up":       "order",
		"format=csv":     "format",
		"event_type=" + strings.Repeat("a,", 99) + strings.Repeat("b,", 99): "event_type",
	} {
		if strings.HasPrefix(query, "event_type") { // names that are all different
			var names []string
			for i := range 101 {
				names = append(names, fmt.Sprint("t", i))
			}
			query = "event_type=" + strings.Join(names, ",")
		}
		for _, format := range []string{"", "&format=jsonl"} {
			if strings.HasPrefix(query, "format") || strings.HasPrefix(query, "limit") && format != "" {
				format = ""
			}
			refused(t, s.Do(t, "GET", auditPath+"?"+query+format, nil), http.StatusBadRequest, "invalid_request", word)
		}
	}
}

// Deleting a task hides it from feeds. Who asks what became of it is told.
func TestAuditKnowsDeletedTasks(t *testing.T) {
	s := story(t)
	before := len(auditAll(t, s, url.Values{"task_id": {apitest.TaskID}}))
	apitest.Append(t, s.Store, "task-"+apitest.TaskID, task.Deleted{})
	got := auditAll(t, s, url.Values{"task_id": {apitest.TaskID}})
	if len(got) != before+1 || got[0].Type != (task.Deleted{}).EventType() || got[0].TaskID != apitest.TaskID {
		t.Errorf("%d events before, %d after, the newest is %+v", before, len(got), got[0])
	}
}

// Texts that stand beside the log are put back, also in events that no feed shows.
func TestAuditShowsTexts(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.Task(t, map[string]any{"prompt": apitest.Long, "execution_kind": "agent_loop"})
	got := auditAll(t, s, url.Values{"event_type": {"task.created"}})
	var data struct{ Definition struct{ Prompt string } }
	decodeInto(t, got[0].Data, &data)
	if len(got) != 1 || data.Definition.Prompt != strings.TrimSpace(apitest.Long) {
		t.Errorf("%d events, a prompt of %d bytes", len(got), len(data.Definition.Prompt))
	}
	if a := got[0].Actor; a == nil || a.Kind != "client" || a.Verified == nil || *a.Verified {
		t.Errorf("by %+v", a)
	}
}

// From an event the chain of causes leads back to what somebody asked for, and its
// effects lead forth.
func TestCausesOfAnEvent(t *testing.T) {
	a := askOn(t, apitest.Options{})
	a.answer(t, object{"decision": "approve"})
	type causes struct {
		Event           feed.Event
		Causes, Effects []feed.Event
		Next            int64 `json:"next_after_sequence"`
	}
	of := func(sequence int64, query string) (c causes) {
		if object := a.Do(t, "GET", fmt.Sprintf("%s/%d/causes%s", auditPath, sequence, query), nil).Data(t, &c); object != "audit_event_causes" {
			t.Errorf("the answer is %s", object)
		}
		return c
	}
	resolved := auditAll(t, a.Server, url.Values{"approval_id": {a.approval}, "event_type": {"approval.resolved"}})[0]
	c := of(resolved.Sequence, "")
	if len(c.Causes) == 0 || c.Event.Sequence != resolved.Sequence || c.Causes[0].Sequence != resolved.CausedBy || c.Causes[len(c.Causes)-1].CausedBy != 0 {
		t.Fatalf("%+v", c)
	}
	cause := c.Causes[0].Sequence
	var effects []int64
	for after := int64(0); ; {
		page := of(cause, fmt.Sprint("?limit=1&after_sequence=", after))
		for _, e := range page.Effects {
			if effects = append(effects, e.Sequence); e.CausedBy != cause {
				t.Errorf("%d is caused by %d, not by %d", e.Sequence, e.CausedBy, cause)
			}
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	if !slices.Contains(effects, resolved.Sequence) || !slices.IsSorted(effects) {
		t.Errorf("%d led to %v", cause, effects)
	}
	refused(t, a.Do(t, "GET", auditPath+"/-1/causes", nil), http.StatusBadRequest, "invalid_request", "sequence")
	refused(t, a.Do(t, "GET", auditPath+"/x/causes", nil), http.StatusBadRequest, "invalid_request", "sequence")
	for _, unknown := range []string{"0", "99999", "9223372036854775807"} {
		refused(t, a.Do(t, "GET", auditPath+"/"+unknown+"/causes", nil), http.StatusNotFound, "not_found", "event")
	}
}

// What waits is listed over all tasks, as its task's list shows it.
func TestApprovalsOfAllTasks(t *testing.T) {
	a := askOn(t, apitest.Options{})
	other := a.Task(t, nil)
	otherApproval := a.Ask(t, a.StartRun(t, other))
	ids := func(query string) (out []string) {
		var list []apitest.Item
		if object := a.Do(t, "GET", base+"/approvals"+query, nil).Data(t, &list); object != "approvals" || list == nil {
			t.Errorf("the answer is %s", object)
		}
		for _, i := range list {
			out = append(out, i.ID)
		}
		return out
	}
	if got := ids("?status=pending"); !slices.Equal(got, []string{otherApproval, a.approval}) {
		t.Errorf("pending: %v", got)
	}
	var own, all []json.RawMessage
	a.Do(t, "GET", base+"/tasks/"+a.task+"/approvals", nil).Data(t, &own)
	a.Do(t, "GET", base+"/approvals?task_id="+a.task, nil).Data(t, &all)
	if len(own) != 1 || len(all) != 1 || string(own[0]) != string(all[0]) {
		t.Errorf("the task has %s, the list %s", own, all)
	}
	a.answer(t, object{"decision": "reject"})
	for query, want := range map[string][]string{
		"?status=pending":                    {otherApproval},
		"?status=rejected":                   {a.approval},
		"?status=approved":                   nil,
		"":                                   {otherApproval, a.approval},
		"?limit=1":                           {otherApproval},
		"?status=rejected&task_id=" + other:  nil,
		"?status=rejected&task_id=" + a.task: {a.approval},
		"?task_id=task_unknown":              nil,
	} {
		if got := ids(query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	refused(t, a.Do(t, "GET", base+"/approvals?status=open", nil), http.StatusBadRequest, "invalid_request", "status")
	refused(t, a.Do(t, "GET", base+"/approvals?limit=-1", nil), http.StatusBadRequest, "invalid_request", "limit")
}

// A run is shown as it was when it asked, whatever came of it.
func TestARunAsItWas(t *testing.T) {
	a := askOn(t, apitest.Options{})
	asked := auditAll(t, a.Server, url.Values{"event_type": {"approval.requested"}})[0]
	a.answer(t, object{"decision": "reject"})
	s := a.Do(t, "DELETE", base+"/tasks/"+a.task, nil)
	if s.Status != http.StatusNoContent && s.Status != http.StatusOK {
		t.Fatalf("%d %s", s.Status, s.Body)
	}
	deleted := auditAll(t, a.Server, url.Values{"event_type": {"task.deleted"}})[0]
	var r struct {
		Sequence  int64 `json:"as_of_sequence"`
		Run       apitest.Item
		Approvals []apitest.Item
	}
	path := base + "/audit/runs/" + a.run + "?as_of="
	if object := a.Do(t, "GET", path+fmt.Sprint(deleted.Sequence-1), nil).Data(t, &r); object != "audit_run" || r.Run.Status != "cancelled" || r.Approvals[0].Status != "rejected" {
		t.Errorf("before its deletion: %+v", r)
	}
	a.Do(t, "GET", path+fmt.Sprint(asked.Sequence), nil).Data(t, &r)
	if r.Sequence != asked.Sequence || r.Run.ID != a.run || r.Run.TaskID != a.task || len(r.Approvals) != 1 || r.Approvals[0].Status != "pending" {
		t.Errorf("when it asked: %+v", r)
	}
	a.Do(t, "GET", path+url.QueryEscape(asked.OccurredAt), nil).Data(t, &r)
	if r.Approvals[0].Status != "pending" {
		t.Errorf("by time: %+v", r)
	}
	var task struct {
		Task apitest.Item
		Runs []apitest.Item
	}
	taskPath := base + "/audit/tasks/" + a.task + "?as_of="
	if object := a.Do(t, "GET", taskPath+"1", nil).Data(t, &task); object != "audit_task" || task.Task.Status != "not_started" || len(task.Runs) != 0 {
		t.Errorf("at its creation: %+v", task)
	}
	for _, gone := range []string{strings.TrimSuffix(path, "?as_of="), path + fmt.Sprint(deleted.Sequence), path + "1", strings.TrimSuffix(taskPath, "?as_of="), base + "/audit/tasks/nobody", base + "/audit/runs/nobody"} {
		refused(t, a.Do(t, "GET", gone, nil), http.StatusNotFound, "not_found", "not found")
	}
	for _, odd := range []string{"", "0", "-1", "now", "2026-02-30T00:00:00Z"} {
		refused(t, a.Do(t, "GET", path+odd, nil), http.StatusBadRequest, "invalid_request", "as_of")
	}
}
