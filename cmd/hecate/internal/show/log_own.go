package show

import (
	"encoding/json"
	"strings"

	"hecate/cmd/hecate/internal/client"
)

// ownEvent is what events have in common that the log tells about itself.
type ownEvent struct {
	Subject  string            `json:"subject"`
	Policy   string            `json:"policy"`
	Reason   string            `json:"reason"`
	Records  []json.RawMessage `json:"records"`
	Contents []string          `json:"contents"`
	Key      string            `json:"new_key"`
	Trigger  string            `json:"trigger"`
	Results  []struct {
		Name    string `json:"name"`
		Deleted int64  `json:"deleted"`
		Error   string `json:"error"`
	} `json:"results"`
}

// describeOwn says what an event tells about the log itself.
func describeOwn(e client.Event) (string, bool) {
	d := decode[ownEvent](e)
	switch e.Type {
	case "log.erased":
		what := []string{d.Subject, Count(int64(len(d.Records)), "record")}
		if len(d.Contents) > 0 {
			what = append(what, Count(int64(len(d.Contents)), "large content"))
		}
		if d.Policy != "" {
			return "no longer kept: " + strings.Join(what, ", "), true
		}
		return strings.Join(what, ", ") + ": " + quote(d.Reason), true
	case "log.key_rotated":
		return strings.TrimSpace("by the word of the old key, to " + d.Key + " " + quoted(d.Reason)), true
	case "log.key_replaced":
		return strings.TrimSpace("in place of a lost one, with " + d.Key + " " + quoted(d.Reason)), true
	case "retention.finished":
		out := []string{d.Trigger}
		for _, r := range d.Results {
			if r.Deleted > 0 || r.Error != "" {
				out = append(out, strings.TrimSuffix(r.Name+" "+Count(r.Deleted, "record")+": "+r.Error, ": "))
			}
		}
		return strings.Join(out, ", "), true
	}
	return "", false
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	return quote(text)
}
