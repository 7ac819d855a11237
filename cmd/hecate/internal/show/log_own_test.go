package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// What the log tells about itself is told in words.
func TestOwnEvents(t *testing.T) {
	for _, c := range []struct{ eventType, data, want string }{
		{"log.erased", `{"subject":"run run_1","records":[{},{}],"contents":["x"],"reason":"asked by its author"}`, "run run_1, 2 records, 1 large content: “asked by its author”"},
		{"log.erased", `{"subject":"run_contents","policy":"run_contents","records":[{}]}`, "no longer kept: run_contents, 1 record"},
		{"log.key_rotated", `{"new_key":"hecate/log_1+ab+cd"}`, "by the word of the old key, to hecate/log_1+ab+cd"},
		{"log.key_replaced", `{"new_key":"k","reason":"the disk broke"}`, "in place of a lost one, with k “the disk broke”"},
		{"retention.finished", `{"trigger":"manual","results":[{"name":"a","deleted":2},{"name":"b"},{"name":"c","error":"no disk"}]}`, "manual, a 2 records, c 0 records: no disk"},
	} {
		var out bytes.Buffer
		show.NewLog(&out, terminal.Style{}).Event(client.Event{Type: c.eventType, Data: json.RawMessage(c.data)})
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %s\nwant %s", c.eventType, out.String(), c.want)
		}
	}
}
