package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
)

var (
	addTool = model.ToolDefinition{
		Name: "add_numbers", Description: "Add two whole numbers.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`),
	}
	weatherTool = model.ToolDefinition{
		Name: "get_weather", Description: "Get the weather of one city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}
	clockTool = model.ToolDefinition{Name: "current_time", Description: "Get the current time. It takes no arguments."}
)

func (c *checker) toolCall(ctx context.Context) {
	r := c.ask(ctx, request{messages: []run.Message{system(), user(askSum)}, tools: []model.ToolDefinition{addTool}})
	if !c.usable(ToolCall, r, addTool.Name) {
		return
	}
	c.called = r.Response
	var in struct{ A, B json.Number }
	arguments := r.Message.ToolCalls[0].Arguments.String()
	if err := json.Unmarshal([]byte(arguments), &in); err != nil || in.A != "17" || in.B != "25" {
		c.add(ToolCall, Quirk, r.took, fmt.Sprintf("The tool is called with %s instead of 17 and 25; the arguments arrive whole, so that is the model's doing.", quote(arguments)))
		return
	}
	c.verdict(ToolCall, r, "The tool is called with the right arguments.")
}

const askSum = "Call the tool add_numbers with a = 17 and b = 25, and then say the sum."

// toolResult answers the call of before, in the form in which a run does it.
func (c *checker) toolResult(ctx context.Context) {
	if c.called == nil {
		return // there is no call to answer
	}
	messages := []run.Message{system(), user(askSum), c.called.Message}
	for _, call := range c.called.Message.ToolCalls {
		messages = append(messages, run.Message{Role: run.RoleTool, ToolCallID: call.ID, Content: event.NewText("The sum is 42.")})
	}
	r := c.ask(ctx, request{messages: messages, tools: []model.ToolDefinition{addTool}})
	switch {
	case r.err != nil:
		c.add(ToolResult, Fail, r.took, failed(r.err))
	case strings.Contains(r.Message.Content.String(), "42"):
		c.add(ToolResult, Pass, r.took, "The result of a tool is taken in and used.")
	case len(r.Message.ToolCalls) > 0:
		c.add(ToolResult, Quirk, r.took, "The model calls the tool again instead of using its result; a run of it may use up its model calls.")
	case r.Message.Blank():
		c.add(ToolResult, Fail, r.took, "The answer after a tool result is empty; a run fails when its model says nothing.")
	default:
		c.add(ToolResult, Quirk, r.took, fmt.Sprintf("The result of the tool is accepted, but the answer %s does not use it.", quote(r.Message.Content.String())))
	}
}

func (c *checker) parallel(ctx context.Context) {
	r := c.ask(ctx, request{
		messages: []run.Message{system(), user("Call the tool get_weather twice at once, in one answer: for Oslo and for Rome.")},
		tools:    []model.ToolDefinition{weatherTool},
	})
	if !c.usable(Parallel, r, weatherTool.Name) {
		return
	}
	if len(r.Message.ToolCalls) == 1 {
		c.add(Parallel, Quirk, r.took, "One call came instead of two; work takes one model call for each tool call.")
		return
	}
	c.verdict(Parallel, r, fmt.Sprintf("%d calls came in one answer, each with an id and arguments of its own.", len(r.Message.ToolCalls)))
}

func (c *checker) noArguments(ctx context.Context) {
	r := c.ask(ctx, request{messages: []run.Message{system(), user("Call the tool current_time.")}, tools: []model.ToolDefinition{clockTool}})
	if c.usable(NoArguments, r, clockTool.Name) {
		c.verdict(NoArguments, r, "A tool without parameters is called with an empty object.")
	}
}

// usable reports whether a run could do something with the calls. If not, the
// check has failed.
func (c *checker) usable(name string, r reply, tool string) bool {
	if r.err != nil {
		c.add(name, Fail, r.took, failed(r.err))
		return false
	}
	calls := r.Message.ToolCalls
	problem := ""
	ids := map[string]bool{}
	switch {
	case r.FinishReason == "length":
		problem = "The answer was cut at its length limit; Hecate runs nothing of a cut answer."
	case len(calls) == 0 && strings.Contains(r.Message.Content.String(), tool):
		problem = "The call came as text and not as a tool call; Hecate never runs text, so switch on tool calls in the server or use another model."
	case len(calls) == 0:
		problem = "The model answered without calling the tool; tasks need a model that does."
	}
	for _, call := range calls {
		switch {
		case problem != "":
		case call.ID == "":
			problem = "A tool call came without an id; Hecate refuses such an answer, because its result could not be assigned."
		case ids[call.ID]:
			problem = "Two tool calls came with the same id; Hecate refuses such an answer, because their results could not be told apart."
		case call.Name != tool:
			problem = fmt.Sprintf("The call is for %s, a tool that was not offered; Hecate answers such calls with an error.", quote(call.Name))
		case !json.Valid([]byte(call.Arguments.String())):
			problem = fmt.Sprintf("The arguments %s are no JSON; Hecate never repairs them and tells the model.", quote(call.Arguments.String()))
		}
		ids[call.ID] = true
	}
	if problem != "" {
		c.add(name, Fail, r.took, problem)
	}
	return problem == ""
}

// verdict is a pass, or a quirk if the calls took liberties.
func (c *checker) verdict(name string, r reply, pass string) {
	var odd []string
	for _, q := range callQuirks {
		if slices.Contains(r.Quirks, q) {
			odd = append(odd, explanations[q])
		}
	}
	if len(odd) > 0 {
		c.add(name, Quirk, r.took, strings.Join(odd, " "))
		return
	}
	c.add(name, Pass, r.took, pass)
}
