package builtin_test

import (
	"context"
	"errors"
	"testing"

	"hecate/tools"
	"hecate/tools/tooltest"
)

func TestArtifactRead(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Artifact = func(_ context.Context, id string) (tools.Artifact, bool, error) {
		switch id {
		case "artifact_1":
			return tools.Artifact{ID: id, Kind: "file", Name: "a b", Status: "ready", Path: "/ws/a b", MIMEType: "text/plain", Content: "héllo\xff"}, true, nil
		case "artifact_2":
			return tools.Artifact{ID: id, Kind: "stdout", Name: "stdout.txt", Status: "streaming"}, true, nil
		case "broken":
			return tools.Artifact{}, false, errors.New("no store")
		}
		return tools.Artifact{}, false, nil
	}
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"artifact_id": "artifact_1"}, "artifact_id=artifact_1 kind=file name=a b storage=inline status=ready size=7 truncated=false path=/ws/a b mime=text/plain\n--- content ---\nhéllo\uFFFD"},
		{args{"artifact_id": "artifact_1", "max_bytes": 2}, "artifact_id=artifact_1 kind=file name=a b storage=inline status=ready size=7 truncated=true path=/ws/a b mime=text/plain\n--- content ---\nh"},
		{args{"artifact_id": "artifact_2"}, "artifact_id=artifact_2 kind=stdout name=stdout.txt storage=inline status=streaming size=0 truncated=false\n--- content ---\n"},
		{args{"artifact_id": "artifact_3"}, `artifact_read: artifact "artifact_3" not found for task "task_1"`},
		{args{"artifact_id": "broken"}, "artifact_read tool internal error: no store"},
	} {
		r := w.Call(tool(t, "artifact_read"), c.args)
		if r.Text != c.want || r.Error != (r.ErrorKind != "") {
			t.Errorf("%v:\ngot  %q\nwant %q", c.args, r.Text, c.want)
		}
	}
	if _, err := tool(t, "artifact_read").Prepare([]byte(`{}`)); err == nil || err.Error() != "artifact_read: artifact_id is required" {
		t.Error(err)
	}
}
