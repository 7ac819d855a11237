package audit_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"hecate/eventstore"
)

// workload is a log that is made up as it is read: agents that run side by side, in
// rounds of a model call and a tool call. Some tools, files, hosts and people are everywhere
// and most are rare, as it is in logs of teams.
type workload struct {
	eventstore.Store
	last int64
}

const (
	runsTogether = 8
	runRounds    = 12
	roundLength  = 8
	runLength    = 4 + runRounds*roundLength
	workFiles    = 20_000
	workHosts    = 3_000
	workPeople   = 40
	gap          = 50 * time.Millisecond
)

var workBegin = time.Unix(1_800_000_000, 0)

func (w *workload) LogID(context.Context) (string, error) { return "workload", nil }

func (w *workload) Head(context.Context) (int64, error) { return w.last, nil }

func (w *workload) ReadAll(_ context.Context, after int64, limit int) ([]eventstore.Record, error) {
	n := min(w.last-after, int64(limit))
	if n <= 0 {
		return nil, nil
	}
	out := make([]eventstore.Record, n)
	for i := range out {
		out[i] = workRecord(after + 1 + int64(i))
	}
	return out, nil
}

// dice is a number from 0 to 1 that belongs to a position.
func dice(p int64, about uint64) float64 {
	x := uint64(p)*0x9e3779b97f4a7c15 + about*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	return float64(x>>11) / (1 << 53)
}

// skewed is a number below n: the low ones are common.
func skewed(p int64, about uint64, n int) int {
	return min(n-1, int(math.Pow(float64(n), dice(p, about)))-1)
}

func workTask(runNo int64) string { return fmt.Sprintf("task_%07d", runNo/3) }

func workFile(n int) string { return fmt.Sprintf("internal/area%d/part%d/file%d.go", n%17, n%211, n) }

func workHost(n int) string { return fmt.Sprintf("host%d.example", n) }

// workTool chooses the tool of a round.
func workTool(call int64) string {
	switch d := dice(call, 1); {
	case d < 0.0002:
		return "config_edit"
	case d < 0.005:
		return "terminal_open"
	case d < 0.06:
		return "web_fetch"
	case d < 0.2:
		return "file_edit"
	case d < 0.5:
		return "shell_exec"
	}
	return "read_file"
}

var padding = strings.Repeat("I will look at the handler next, since the failing assertion points there. ", 4)

// workRecord makes the record at a position.
func workRecord(p int64) eventstore.Record {
	n := p - 1
	runNo, version := n/(runsTogether*runLength)*runsTogether+n%runsTogether, n/runsTogether%runLength+1
	r := eventstore.Record{
		Position: p, Stream: fmt.Sprintf("run-run_%08d", runNo), Version: version, Schema: 1,
		At:    workBegin.Add(time.Duration(p) * gap),
		Actor: eventstore.Actor{Kind: "worker", Name: fmt.Sprintf("node_%d", runNo%3)}, CausedBy: max(p-runsTogether, 0),
	}
	binary.BigEndian.PutUint64(r.ID[8:], uint64(p))
	person := eventstore.Actor{Kind: "operator", Name: fmt.Sprintf("person%d", skewed(runNo, 2, workPeople))}
	call := runNo*runRounds + (version-4)/roundLength
	tool := workTool(call)
	switch step := (version - 4) % roundLength; {
	case version == 1:
		r.Type, r.Actor, r.CausedBy = "run.created", person, 0
		r.Data = fmt.Appendf(nil, `{"task_id":"%s"}`, workTask(runNo))
	case version == 2:
		r.Type, r.Data = "run.queued", []byte(`{}`)
	case version == 3:
		r.Type, r.Data = "run.started", fmt.Appendf(nil, `{"workspace_path":"/data/workspaces/run_%08d"}`, runNo)
	case version == runLength:
		r.Type, r.Data = "run.finished", []byte(`{}`)
	case p%1999 < runsTogether && step < 2:
		r.Type, r.Data = "approval.requested", fmt.Appendf(nil, `{"approval_id":"approval_%d","calls":[{"tool_name":"%s"}]}`, call, tool)
		if step == 1 {
			r.Type, r.Actor, r.Data = "approval.resolved", person, fmt.Appendf(nil, `{"approval_id":"approval_%d"}`, call)
		}
	default:
		r.Type = [roundLength]string{
			"model.call.started", "model.response.recorded", "assistant.text_complete", "model.call.completed",
			"assistant.tool_call_proposed", "tool.dispatch.intended", "tool.invoked", "tool.dispatch.settled",
		}[step]
		r.Data = workData(tool, call, step)
		if step == 6 && tool == "file_edit" {
			r.Type = "workspace.changed"
		} else if step == 6 && tool == "shell_exec" {
			r.Type = "tool.shell.output_chunk"
		}
	}
	return r
}

// workData is what a record of a round says.
func workData(tool string, call, step int64) []byte {
	file, input := workFile(skewed(call, 3, workFiles)), `{"command":"make test"}`
	switch tool {
	case "read_file", "file_edit":
		input = fmt.Sprintf(`{"path":"%s"}`, file)
	case "web_fetch":
		input = fmt.Sprintf(`{"url":"https://%s/x"}`, workHost(skewed(call, 4, workHosts)))
	}
	switch step {
	case 4, 5:
		return fmt.Appendf(nil, `{"tool_call_id":"call_%d","tool_name":"%s","input":%s}`, call, tool, input)
	case 6:
		if tool == "file_edit" {
			return fmt.Appendf(nil, `{"tool_name":"%s","files":[{"path":"%s"}]}`, tool, file)
		}
	case 7:
		return fmt.Appendf(nil, `{"tool_call_id":"call_%d","tool_name":"%s","outcome":"completed","result":"%s"}`, call, tool, padding)
	}
	return fmt.Appendf(nil, `{"model_call_index":%d,"text":"%s"}`, call, padding)
}

// apart is a log in which every other record has one name, and the others another.
type apart struct{ workload }

func (a *apart) ReadAll(_ context.Context, after int64, limit int) ([]eventstore.Record, error) {
	n := min(a.last-after, int64(limit))
	if n <= 0 {
		return nil, nil
	}
	out := make([]eventstore.Record, n)
	for i := range out {
		r := eventstore.Record{Position: after + 1 + int64(i), Stream: "note", Type: "there", Actor: eventstore.Actor{Kind: "system"}}
		if r.Position%2 == 0 {
			r.Type, r.Data = "other", []byte(`{"tool_name":"here"}`)
		}
		binary.BigEndian.PutUint64(r.ID[8:], uint64(r.Position))
		out[i] = r
	}
	return out, nil
}
