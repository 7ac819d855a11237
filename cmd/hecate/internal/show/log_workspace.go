package show

import (
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
)

// workspaceEvent is what events of workspaces have in common.
type workspaceEvent struct {
	Tool  string `json:"tool_name"`
	Files []struct {
		Path, Kind string
	} `json:"files"`
	Count     int64  `json:"files_count"`
	Problem   string `json:"problem"`
	Operation string `json:"operation_id"`
	Target    string `json:"target"`
	Branch    string `json:"branch"`
	Before    string `json:"before"`
}

// filesNamed is how many changed files a line of the history names.
const filesNamed = 3

// describeWorkspace says what an event tells of a workspace.
func describeWorkspace(e client.Event) (string, bool) {
	d := decode[workspaceEvent](e)
	switch e.Type {
	case "workspace.changed":
		return d.changed(), true
	case "workspace.taken":
		if d.Branch != "" {
			return fmt.Sprintf("%s to the branch %s of %s", Count(d.Count, "file"), d.Branch, d.Target), true
		}
		return fmt.Sprintf("%s to %s", Count(d.Count, "file"), d.Target), true
	case "workspace.restored":
		return fmt.Sprintf("%s, back to before %s", Count(d.Count, "file"), d.Before), true
	}
	return "", false
}

func (d workspaceEvent) changed() string {
	if d.Problem != "" {
		return d.Problem
	}
	by := d.Tool
	switch {
	case by == "" && d.Operation != "":
		by = "an operation"
	case by == "":
		by = "somebody else, or a call whose outcome is unknown"
	}
	var names []string
	for _, f := range d.Files[:min(len(d.Files), filesNamed)] {
		names = append(names, map[string]string{"add": "+", "update": "~", "delete": "-"}[f.Kind]+f.Path)
	}
	text := strings.Join(names, " ")
	if more := d.Count - int64(len(names)); more > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s and %d more", text, more))
	}
	return text + ", by " + by
}
