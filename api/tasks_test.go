package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"hecate/api/apitest"
)

// The list names where it goes on, and a search is in no need of the whole list.
func TestTaskPages(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	for i := range 5 {
		s.Do(t, "POST", base+"/tasks", map[string]string{"title": fmt.Sprintf("Task %d", i), "prompt": "Repair what is broken in 100%", "execution_kind": "agent_loop"})
	}
	titles := func(query string) (string, int64) {
		t.Helper()
		a := s.Do(t, "GET", base+"/tasks?"+query, nil)
		var page struct {
			Data []struct{ Title string }
			Next int64 `json:"next_before"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil || a.Status != 200 || page.Data == nil {
			t.Fatalf("%s: %d %s", query, a.Status, a.Body)
		}
		var out []string
		for _, d := range page.Data {
			out = append(out, strings.TrimPrefix(d.Title, "Task "))
		}
		return strings.Join(out, " "), page.Next
	}
	var all []string
	for before := int64(0); ; {
		got, next := titles(fmt.Sprintf("limit=2&before=%d&q=%s", before, url.QueryEscape("REPAIR 100%")))
		all = append(all, got)
		if before = next; next == 0 {
			break
		}
	}
	if got := strings.Join(all, ", "); got != "4 3, 2 1, 0" {
		t.Errorf("pages %s", got)
	}
	for query, want := range map[string]string{"": "4 3 2 1 0", "limit=0": "4 3 2 1 0", "q=task+3&limit=0": "3", "q=nothing": "", "q=+": "4 3 2 1 0"} {
		if got, next := titles(query); got != want || next != 0 {
			t.Errorf("%q lists %q, next %d", query, got, next)
		}
	}
	for _, query := range []string{"before=-1", "before=x", "q=%ff", "q=%00", "q=" + strings.Repeat("x", 401)} {
		if a := s.Do(t, "GET", base+"/tasks?"+query, nil); a.Status != 400 {
			t.Errorf("%.20s: %d %.200s", query, a.Status, a.Body)
		}
	}
}
