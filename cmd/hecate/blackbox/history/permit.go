package history

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// ruling is how a call was decided about, as events carry it.
type ruling struct {
	Decision string `json:"decision"`
	Level    *int   `json:"level"`
	Layer    string `json:"layer"`
	Rule     string `json:"rule"`
	Posture  string `json:"posture"`
}

// whole reports whether the log alone explains the decision.
func (r *ruling) whole() bool {
	return r != nil && r.Level != nil && r.Layer != "" && r.Rule != "" && r.Posture != "" &&
		(r.Decision == "allow" || r.Decision == "allow_visibly" || r.Decision == "ask" || r.Decision == "deny")
}

// bundle are the calls of one answer of a model.
type bundle []struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// calls are those of a model's message.
func (f facts) calls() bundle {
	var m struct {
		Calls bundle `json:"tool_calls"`
	}
	_ = json.Unmarshal(f.Message, &m) // without calls there is nothing that they could be compared with, so approvals of any are wrong
	return m.Calls
}

// approval is what a person was asked, and what was answered.
type approval struct {
	digest   string
	calls    map[string]bool // whether each asks; nil for a gate before a command
	decision string
	goesOn   bool            // a rejection after which the run goes on
	answers  map[string]bool // said to single calls: whether they are allowed
}

// covers reports whether a person allowed the call, which is one that was asked about.
func (a *approval) covers(id string) bool {
	if a == nil || a.calls == nil {
		return a != nil && a.decision == "approved"
	}
	said, single := a.answers[id]
	return a.calls[id] && (said || !single && a.decision == "approved")
}

// permits is what people and policies said about the calls of a run.
type permits struct {
	approvals map[string]*approval
	asked     string           // pending approval
	bundles   map[int64]bundle // by the model call, 0 for what was inherited
	refused   map[string]bool  // digest and call: refused by a person
}

func newPermits() permits {
	return permits{approvals: map[string]*approval{}, bundles: map[int64]bundle{}, refused: map[string]bool{}}
}

func (p *permits) ask(c *checker, s *run, r Record, f facts) {
	if p.asked != "" || p.approvals[f.ApprovalID] != nil {
		c.wrong(r, "approval %s is asked for while %q is pending", f.ApprovalID, p.asked)
	}
	a := &approval{digest: f.Digest, answers: map[string]bool{}}
	asks := len(f.Calls) == 0
	for _, asked := range f.Calls {
		if a.calls == nil {
			a.calls = map[string]bool{}
		}
		if !asked.Ruling.whole() {
			c.wrong(r, "call %s has no whole ruling: %+v", asked.ID, asked.Ruling)
			continue
		}
		a.calls[asked.ID] = asked.Ruling.Decision == "ask"
		asks = asks || a.calls[asked.ID]
	}
	if !asks {
		c.wrong(r, "approval %s asks about nothing", f.ApprovalID)
	}
	p.approvals[f.ApprovalID], p.asked = a, f.ApprovalID
	if a.calls == nil {
		return
	}
	b := p.bundles[f.Index]
	if digest, known := b.digest(s.id, f.Index); known && digest != f.Digest {
		c.wrong(r, "the calls have the digest %s, asked was for %s", digest, f.Digest)
	}
	for id := range a.calls {
		if !b.has(id) {
			c.wrong(r, "the model did not ask for call %s", id)
		}
	}
}

func (p *permits) answer(c *checker, r Record, f facts) {
	a := p.approvals[f.ApprovalID]
	if a == nil || p.asked != f.ApprovalID {
		c.wrong(r, "pending is %q", p.asked)
		return
	}
	if f.Decision == "approved" && f.Digest != a.digest {
		c.wrong(r, "something else was approved than was asked for")
	}
	a.decision, a.goesOn, p.asked = f.Decision, f.Continue, ""
	for _, said := range f.Calls {
		if _, asked := a.calls[said.ID]; !asked {
			c.wrong(r, "call %s was answered and not asked about", said.ID)
		}
		a.answers[said.ID] = said.Decision == "approved"
		if !a.answers[said.ID] {
			p.refused[a.digest+" "+said.ID] = true
		}
	}
}

// allow checks that a call that is about to be dispatched may be.
func (p *permits) allow(c *checker, s *run, r Record, f facts) {
	if p.asked != "" {
		c.wrong(r, "approval %s is pending", p.asked)
	}
	if !f.Ruling.whole() || f.Ruling.Decision == "deny" {
		c.wrong(r, "call %s is dispatched after the ruling %+v", f.CallID, f.Ruling)
	}
	b, inLoop := p.bundles[f.Index]
	digest, known := b.digest(s.id, f.Index)
	if inLoop && known && p.refused[digest+" "+f.CallID] {
		c.wrong(r, "call %s was refused by a person", f.CallID)
	}
	if text, ok := b.call(f.CallID); inLoop && known && (!ok || f.CallDigest != text) {
		c.wrong(r, "call %s is not what the model asked for", f.CallID)
	}
	asks := f.Ruling != nil && f.Ruling.Decision == "ask"
	if !asks && f.ApprovalID == "" {
		return
	}
	a := p.approvals[f.ApprovalID]
	switch {
	case a == nil || a.decision != "approved" && !a.goesOn, asks && !a.covers(f.CallID):
		c.wrong(r, "call %s was not approved: %+v", f.CallID, a)
	case inLoop && known && a.digest != digest:
		c.wrong(r, "approval %s is about other calls", f.ApprovalID)
	}
}

func (b bundle) has(id string) bool {
	for _, c := range b {
		if c.ID == id {
			return true
		}
	}
	return false
}

// digest names the calls exactly. It is not known if an argument stands outside its
// event, as very large ones do.
func (b bundle) digest(run string, index int64) (string, bool) {
	out := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(field(field(nil, "hecate.bundle.v1"), run), uint64(index)), uint64(len(b)))
	for _, c := range b {
		arguments, known := text(c.Arguments)
		if !known {
			return "", false
		}
		out = field(field(field(out, c.ID), c.Name), arguments)
	}
	return sum(out), true
}

// call is the digest of one call; false if there is no such call.
func (b bundle) call(id string) (string, bool) {
	for _, c := range b {
		if c.ID == id {
			arguments, _ := text(c.Arguments) // the digest of the bundle is known, so this is
			return sum(field(field(field(nil, "hecate.call.v1"), c.Name), arguments)), true
		}
	}
	return "", false
}

func field(to []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(to, uint64(len(s))), s...)
}

func sum(of []byte) string {
	h := sha256.Sum256(of)
	return hex.EncodeToString(h[:])
}

// text reads what an event says in full: a string, or bytes that are none.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var o struct {
		Base64 *string `json:"base64"`
	}
	if json.Unmarshal(raw, &o) != nil || o.Base64 == nil {
		return "", false
	}
	b, err := base64.StdEncoding.DecodeString(*o.Base64)
	return string(b), err == nil
}
