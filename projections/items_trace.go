package projections

// Trace is an item of the list of traces: one run, or a pass of retention, as a trace.
type Trace struct {
	RequestID  string     `json:"request_id" doc:"The request that opened the run; of a pass of retention: retention, the trigger and the time in nanoseconds since 1970, with colons between them."`
	TraceID    string     `json:"trace_id,omitempty" doc:"The trace that the run belongs to: the caller's if the request had a traceparent."`
	RunID      string     `json:"run_id,omitempty" doc:"The run; absent for a pass of retention."`
	TaskID     string     `json:"task_id,omitempty" doc:"Its task."`
	StartedAt  string     `json:"started_at,omitempty" format:"date-time" doc:"When the run was opened."`
	SpanCount  int        `json:"span_count" doc:"Spans so far, open ones included."`
	DurationMS int64      `json:"duration_ms,omitempty" doc:"From the start to the end; absent while the run is open."`
	StatusCode string     `json:"status_code,omitempty" doc:"How the run ended; unset while it is open." enum:"ok,error,unset"`
	StatusText string     `json:"status_message,omitempty" doc:"Why, as a word: such as max_model_calls_exceeded."`
	Route      TraceRoute `json:"route" doc:"Where its model calls went."`
}

// TraceDetail is one trace with its spans.
type TraceDetail struct {
	RequestID string      `json:"request_id" doc:"The request that opened the run, or the name of the pass of retention."`
	TraceID   string      `json:"trace_id,omitempty" doc:"The trace that the run belongs to."`
	RunID     string      `json:"run_id,omitempty" doc:"The run; absent for a pass of retention."`
	TaskID    string      `json:"task_id,omitempty" doc:"Its task."`
	StartedAt string      `json:"started_at,omitempty" format:"date-time" doc:"When the run was opened."`
	EndedAt   string      `json:"ended_at,omitempty" format:"date-time" doc:"When the run ended; absent while it is open."`
	Spans     []TraceSpan `json:"spans,omitempty" doc:"In the order in which they began, each after the one that it is part of."`
	Route     TraceRoute  `json:"route" doc:"Where its model calls went."`
}

// TraceSpan is something that took time.
type TraceSpan struct {
	TraceID    string         `json:"trace_id" doc:"The trace that it belongs to, 32 hexadecimal digits."`
	SpanID     string         `json:"span_id" doc:"Its id, 16 hexadecimal digits; the same whenever and wherever the trace is told."`
	ParentID   string         `json:"parent_span_id,omitempty" doc:"The span that it is part of; that of gateway.request is the span of the HTTP request."`
	Name       string         `json:"name" doc:"Such as orchestrator.step."`
	Kind       string         `json:"kind,omitempty" doc:"client for what is asked of a provider, server for the root." enum:"server,internal,client"`
	StartTime  string         `json:"start_time,omitempty" format:"date-time" doc:"When it began."`
	EndTime    string         `json:"end_time,omitempty" format:"date-time" doc:"Absent while it goes on."`
	Attributes map[string]any `json:"attributes,omitempty" doc:"Names, numbers and words; never a prompt, an answer, an argument or a path."`
	StatusCode string         `json:"status_code,omitempty" doc:"How it ended; unset while it goes on." enum:"ok,error,unset"`
	StatusText string         `json:"status_message,omitempty" doc:"Why it is an error, as a word."`
	Events     []TraceEvent   `json:"events,omitempty" doc:"What happened in it, in order."`
}

// TraceEvent is a moment within a span.
type TraceEvent struct {
	Name       string         `json:"name" doc:"Such as provider.call.started."`
	Timestamp  string         `json:"timestamp" format:"date-time" doc:"When it happened."`
	Attributes map[string]any `json:"attributes,omitempty" doc:"Names, numbers and words, as on spans."`
}

// TraceRoute is where the model calls of a run went; empty if it made none.
type TraceRoute struct {
	FinalProvider     string           `json:"final_provider,omitempty" doc:"Who gave the last answer."`
	FinalProviderKind string           `json:"final_provider_kind,omitempty" doc:"Where that is." enum:"cloud,local"`
	FinalModel        string           `json:"final_model,omitempty" doc:"With which model."`
	FallbackFrom      string           `json:"fallback_from,omitempty" doc:"Of the last answer: the provider that had failed before."`
	Candidates        []TraceCandidate `json:"candidates,omitempty" doc:"Attempts at model calls, in order; at most the last 64."`
	Failovers         []TraceFailover  `json:"failovers,omitempty" doc:"Calls that went on at another provider; at most the last 64."`
}

// TraceCandidate is one attempt at a model call.
type TraceCandidate struct {
	Provider     string `json:"provider,omitempty" doc:"Who was asked."`
	Model        string `json:"model,omitempty" doc:"For which model."`
	Outcome      string `json:"outcome,omitempty" doc:"What came of it; absent while it is under way." enum:"selected,failed"`
	Attempt      int64  `json:"attempt,omitempty" doc:"1, 2, 3 … within the model call."`
	Retryable    bool   `json:"retryable,omitempty" doc:"The failure was worth another attempt."`
	LatencyMS    int64  `json:"latency_ms,omitempty" doc:"How long it took."`
	FailoverFrom string `json:"failover_from,omitempty" doc:"The provider that had failed before."`
	Detail       string `json:"detail,omitempty" doc:"The kind of failure."`
	Timestamp    string `json:"timestamp,omitempty" format:"date-time" doc:"When it began."`
}

// TraceFailover is a model call that went on at another provider.
type TraceFailover struct {
	FromProvider string `json:"from_provider" doc:"Who failed."`
	FromModel    string `json:"from_model" doc:"With which model."`
	ToProvider   string `json:"to_provider" doc:"Who was asked instead."`
	ToModel      string `json:"to_model" doc:"For which model."`
	Reason       string `json:"reason" doc:"The kind of failure."`
	Timestamp    string `json:"timestamp" format:"date-time" doc:"When it happened."`
}
