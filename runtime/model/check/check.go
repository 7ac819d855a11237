// Package check finds out how well a model server keeps to its dialect. It sends
// a few small real requests and says of each what came, whether that will do,
// and what Hecate makes of it.
package check

import (
	"context"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
)

// requestMax is how long one request may take.
const requestMax = 2 * time.Minute

// Status says how a check went.
type Status string

// The ways in which a check can go.
const (
	Pass  Status = "pass"
	Quirk Status = "quirk" // not as the dialect says, or not verifiable; work goes on
	Fail  Status = "fail"  // tasks will fail because of it
)

// Names of the checks, in the order in which they are made.
const (
	Models      = "model list"
	Answer      = "answer"
	Stream      = "streamed answer"
	EndMarker   = "end marker"
	Usage       = "usage"
	ToolCall    = "tool call"
	ToolResult  = "tool result"
	Parallel    = "parallel tool calls"
	NoArguments = "tool without arguments"
	Unicode     = "unicode"
	OutputLimit = "output limit"
)

// Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Text   string `json:"text"` // one sentence: what came, and what Hecate does about it
	TookMS int64  `json:"took_ms"`
}

// Run makes the checks one after another and hands each result to report, which
// may be nil; it returns all of them. It ends early when nothing more can be
// learned: the server cannot be reached, refuses the key or the model, or the
// context has ended. A handful of requests is made in all, each of a few hundred
// tokens at most unless the model reasons at length.
func Run(ctx context.Context, route model.Route, report func(Result)) []Result {
	c := &checker{route: route, report: report}
	c.models(ctx)
	if !c.answer(ctx) {
		return c.results
	}
	for _, step := range []func(context.Context){
		c.stream, c.toolCall, c.toolResult, c.parallel, c.noArguments, c.unicode, c.outputLimit,
	} {
		if ctx.Err() != nil {
			break
		}
		step(ctx)
	}
	return c.results
}

// Worst returns the worst status among the results, Pass for none.
func Worst(results []Result) Status {
	worst := Pass
	for _, r := range results {
		if r.Status == Fail {
			return Fail
		}
		if r.Status == Quirk {
			worst = Quirk
		}
	}
	return worst
}

type checker struct {
	route   model.Route
	report  func(Result)
	results []Result
	whole   *model.Response // the answer without streaming
	called  *model.Response // the answer with a tool call, if there was one
}

func (c *checker) add(name string, status Status, took time.Duration, text string) {
	r := Result{Name: name, Status: status, Text: text, TookMS: took.Milliseconds()}
	c.results = append(c.results, r)
	if c.report != nil {
		c.report(r)
	}
}

// request is one question.
type request struct {
	messages []run.Message
	tools    []model.ToolDefinition
	whole    bool // without streaming
	limit    int64
}

// reply is what came of it.
type reply struct {
	*model.Response
	pieces int // of text
	took   time.Duration
	err    error
}

func (c *checker) ask(ctx context.Context, q request) reply {
	ctx, stop := context.WithTimeout(ctx, requestMax)
	defer stop()
	call := model.Call{Model: c.route.Model, Stream: !q.whole, MaxOutputTokens: q.limit}
	var r reply
	call.OnText = func(string) { r.pieces++ }
	for _, m := range q.messages {
		e, err := c.route.Client.Encode(m)
		if err != nil {
			r.err = err
			return r
		}
		call.Conversation = append(call.Conversation, e)
	}
	if call.Tools, r.err = c.route.Client.EncodeTools(q.tools); r.err != nil {
		return r
	}
	begun := time.Now()
	r.Response, r.err = c.route.Client.Call(ctx, call)
	r.took = time.Since(begun)
	return r
}

func system() run.Message {
	return run.Message{Role: run.RoleSystem, Content: event.NewText("You are checked by a program. Do exactly what is asked, without remarks.")}
}

func user(text string) run.Message {
	return run.Message{Role: run.RoleUser, Content: event.NewText(text)}
}
