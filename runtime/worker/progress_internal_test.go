package worker

import (
	"strings"
	"testing"
	"time"

	"hecate/domain/secret"
)

// Who watches a run learns of its answer's beginning, growth and end; a run that is
// only watched leaves nothing behind.
func TestProgress(t *testing.T) {
	p := newProgress(nil)
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	now := time.Now()
	before := p.Changed("r")
	if len(p.runs) != 0 {
		t.Error("watching made an entry")
	}
	p.add("r", "a beginning of some length", now)
	if !closed(before) {
		t.Error("the beginning was not announced")
	}
	text, version := p.Partial("r")
	if text != "a beginning of some length" || version == 0 {
		t.Errorf("%q, %d", text, version)
	}
	growing := p.Changed("r")
	p.add("r", ".", now)
	if closed(growing) {
		t.Error("a little more was announced at once")
	}
	p.add("r", ".", now.Add(progressEvery))
	if !closed(growing) {
		t.Error("what waited long was not announced")
	}
	end := p.Changed("r")
	p.drop("r")
	if text, version := p.Partial("r"); !closed(end) || text != "" || version != 0 || len(p.runs) != 0 {
		t.Errorf("after the end: %q, %d, %d entries", text, version, len(p.runs))
	}
}

// A secret that a model says piece by piece is seen in no state of its answer.
func TestProgressHoldsNoSecret(t *testing.T) {
	const key = "sk-planted-5hT7yU9iO1pA3s"
	set := &secret.Set{}
	if !set.Add("OPENAI_API_KEY", key) {
		t.Fatal("not held")
	}
	p := newProgress(set)
	for i, piece := range strings.Split("the key is "+key+", I think", "") {
		p.add("r", piece, time.Unix(int64(i), 0))
		if text, _ := p.Partial("r"); strings.Contains(text, key[:4]) {
			t.Fatalf("it says %q", text)
		}
	}
	if text, _ := p.Partial("r"); text != "the key is [secret OPENAI_API_KEY], I think" {
		t.Errorf("it says %q", text)
	}
}
