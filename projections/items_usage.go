package projections

// UsageSummary is what model calls have cost so far, by all runs of all tasks,
// deleted ones included.
type UsageSummary struct {
	Key              string `json:"key" doc:"The account: global or global:provider:<name>."`
	Scope            string `json:"scope" doc:"Whether the account was named by scope or by key." enum:"global,provider,custom"`
	Provider         string `json:"provider,omitempty" doc:"The provider whose account it is."`
	Backend          string `json:"backend" doc:"Where the account is kept."`
	UsedMicroUSD     int64  `json:"used_micros_usd" doc:"The sum of all known costs, in millionths of a US dollar, rounded once."`
	UsedUSD          string `json:"used_usd" doc:"The same in US dollars with six decimals."`
	CostKnown        bool   `json:"cost_known" doc:"Whether the cost of every call is in the sum."`
	UnknownCostCalls int64  `json:"unknown_cost_calls" doc:"Calls that may have cost something that nobody knows."`
}

// UsageEvent is an item of usage_events: one model call that was paid for, or may
// have been.
type UsageEvent struct {
	Type             string `json:"type" doc:"What was used." enum:"usage"`
	Scope            string `json:"scope,omitempty" doc:"The account that was charged." enum:"global"`
	Provider         string `json:"provider,omitempty" doc:"Who answered; of a call without an answer, who was asked."`
	Model            string `json:"model,omitempty" doc:"The model that answered or was asked."`
	TaskID           string `json:"task_id,omitempty" doc:"The task, also after it was deleted."`
	RunID            string `json:"run_id,omitempty" doc:"The run that made the call."`
	RequestID        string `json:"request_id,omitempty" doc:"The request that started the run."`
	Detail           string `json:"detail,omitempty" doc:"What is special: abandoned when the worker vanished, failed when the answer broke off, repetition_check when a fast model looked whether the run makes progress, which is none of the run's model calls." enum:"abandoned,failed,repetition_check"`
	AmountMicroUSD   int64  `json:"amount_micros_usd" doc:"What the call cost, in millionths of a US dollar, rounded."`
	AmountUSD        string `json:"amount_usd" doc:"The same in US dollars with six decimals."`
	CostKnown        bool   `json:"cost_known" doc:"False if the amount is not known; it is then shown as 0."`
	PromptTokens     int64  `json:"prompt_tokens,omitempty" doc:"Tokens sent, those read from a cache included."`
	CompletionTokens int64  `json:"completion_tokens,omitempty" doc:"Tokens answered."`
	TotalTokens      int64  `json:"total_tokens,omitempty" doc:"Both together."`
	Timestamp        string `json:"timestamp,omitempty" format:"date-time" doc:"When the call was accounted for."`
}
