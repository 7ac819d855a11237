package client_test

import (
	"net/http"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
)

func TestWaitsForTheEndOfASlowOperation(t *testing.T) {
	for end, want := range map[string]string{
		`{"id":"op_1","status":"done","result":{"target":"/w","files_count":1}}`:                        "",
		`{"id":"op_1","status":"refused","error":{"type":"conflict","message":"the source is locked"}}`: "the source is locked",
	} {
		var asked []string
		answers := []string{`{"id":"op_1","status":"requested"}`, `{"id":"op_1","status":"running"}`, end}
		c, _ := client.New("http://h", "", roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			data := answers[0]
			answers = answers[1:]
			return answer(http.StatusOK, strings.NewReader(`{"object":"workspace_operation","data":`+data+`}`)), nil
		}))
		told := 0
		got, err := c.TakeRun(t.Context(), client.Run{ID: "run_1", TaskID: "task_1"}, client.Take{}, "d", func(client.Operation) { told++ })
		switch {
		case want == "" && (err != nil || got.Target != "/w"):
			t.Errorf("TakeRun = %+v, %v", got, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("TakeRun fails with %v, want %s", err, want)
		}
		if told != 1 {
			t.Errorf("said %d times that it takes long", told)
		}
		root := "/hecate/v1/tasks/task_1/runs/run_1/"
		if want := "POST " + root + "take|GET " + root + "operations/op_1|GET " + root + "operations/op_1"; strings.Join(asked, "|") != want {
			t.Errorf("asked %q", asked)
		}
	}
}
