// Package permission decides for every tool call whether it runs silently,
// visibly, after a person's yes, or not at all. The decision is one pure function
// of the call and of the posture; what it says stands in the log with the call.
//
// Decide goes through layers, and the first that has an answer gives it: hard limits
// that nobody can approve away; deny entries; gates, which would ask; answers already
// given, each of which opens certain gates; and then a person, or nobody. Nothing
// makes a call quieter than its level unless an answer that was given says so.
//
// The languages that it speaks are packages of their own: pattern (what an entry
// matches), host (which host a URL names), command (what a command starts) and
// repetition (when the same thing over and over needs a look).
package permission

// Decision is what happens to a call.
type Decision string

// The decisions, from quiet to never.
const (
	Allow        Decision = "allow"
	AllowVisibly Decision = "allow_visibly"
	Ask          Decision = "ask"
	Deny         Decision = "deny"
)

// The layers of the decision.
const (
	LayerLimit      = "hard_limit"
	LayerDeny       = "deny"
	LayerGate       = "gate"
	LayerAnswer     = "answer"
	LayerDefault    = "default"
	LayerUnattended = "unattended"
)

// Verdict is a decision with its reasons.
type Verdict struct {
	Decision Decision `json:"decision"`
	Level    int      `json:"level"`            // the tool's own, whatever was decided
	Layer    string   `json:"layer"`            // hard_limit, deny, gate, answer, default or unattended
	Rule     string   `json:"rule"`             // what decided, such as runtime-policy
	Policy   string   `json:"policy,omitempty"` // of a denial: the policy that events name
	Reason   string   `json:"reason,omitempty"` // of a denial: what the model is told; of a question: why it is asked

	Posture string       `json:"posture"`                 // runtime or levels
	Config  string       `json:"config_digest,omitempty"` // of the configuration that decided
	Denied  []Denial     `json:"denied,omitempty"`        // every deny entry that matched
	Gates   []ClosedGate `json:"gates,omitempty"`         // of a question, or where nobody can answer it: those that ask; else all that would, had nothing opened them
	Grant   *Given       `json:"grant,omitempty"`         // the answer that opened them
	Offer   *Offer       `json:"offer,omitempty"`         // what a and A would remember
	Answers []string     `json:"answers,omitempty"`       // of a question: y a A e n N, in this order
	Notes   []string     `json:"notes,omitempty"`         // what a person should see beside the call
}

// Decide rules over one call.
func Decide(c Call, p Posture) Verdict {
	v := Verdict{Level: p.Level(c), Posture: p.name(), Config: p.Config.Digest, Notes: notes(c)}
	if l := p.limit(c); l != nil {
		return v.deny(LayerLimit, l.Rule, l.Rule, l.Reason)
	}
	if v.Denied = p.Config.Denied(c.Tool, c.Facts); len(v.Denied) > 0 {
		return v.deny(LayerDeny, v.Denied[0].List, v.Denied[0].List, DeniedByConfig(v.Denied))
	}
	if !c.Void { // there is nothing to ask about: it comes to an error
		v.Gates = p.closed(c, v.Level)
	}
	if len(v.Gates) > 0 && p.Preset == PresetBlock {
		return v.deny(LayerGate, "preset-block", "agent_preset_approval", "the task's preset denies what would need an approval; do without it ("+reasons(v.Gates)+")")
	}
	closed := p.open(c, &v)
	switch {
	case len(v.Gates) == 0:
		v.Layer, v.Rule = LayerDefault, p.defaultRule(v.Level)
	case len(closed) == 0:
		v.Layer, v.Rule = LayerAnswer, v.Grant.By
	case p.OnAsk == OnAskRefuse:
		v.Gates = closed
		return v.deny(LayerUnattended, string(closed[0].Gate), "unattended", unattendedMessage(closed))
	default:
		return p.ask(c, v, closed)
	}
	v.Decision = Allow
	if v.Level > Silent {
		v.Decision = AllowVisibly
	}
	return v
}

func (v Verdict) deny(layer, rule, policy, reason string) Verdict {
	v.Decision, v.Layer, v.Rule, v.Policy, v.Reason = Deny, layer, rule, policy, reason
	v.Grant = nil
	return v
}

func (p Posture) ask(c Call, v Verdict, closed []ClosedGate) Verdict {
	v.Decision, v.Layer, v.Rule, v.Reason = Ask, LayerGate, string(closed[0].Gate), reasons(closed)
	v.Grant, v.Gates = nil, closed
	v.Offer = p.offer(c, closed)
	v.Answers = p.answers(c, v.Offer)
	return v
}

// defaultRule says why a call without a gate may run. In the runtime posture the list
// of policies has approved what it does not name.
func (p Posture) defaultRule(level int) string {
	switch {
	case p.name() == PostureRuntime:
		return string(GateRuntime)
	case level == Silent:
		return "level-0"
	}
	return "level-1"
}
