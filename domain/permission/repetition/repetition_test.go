package repetition_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/permission/repetition"
)

// turn plays a script: one attempt per word, kind:call=result, where kind is r, c or p,
// a result of ! is a refusal, and "progress" and "yes" are what they say.
func turn(script string) (s repetition.State) {
	for i, word := range strings.Fields(script) {
		switch word {
		case "progress":
			s = s.Progressed()
			continue
		case "yes":
			s = s.Approved()
			continue
		}
		s = s.Completed(attempt(i, word), repetition.Default)
	}
	return s
}

var kinds = map[string]repetition.Kind{"r": repetition.Read, "c": repetition.Command, "p": repetition.Poll}

func attempt(round int, word string) repetition.Attempt {
	kind, rest, _ := strings.Cut(word, ":")
	call, result, _ := strings.Cut(rest, "=")
	result, content, _ := strings.Cut(result, "@")
	return repetition.Attempt{
		Round: round, Kind: kinds[kind], Call: call, Outcome: "completed", Result: result, Content: content, Refused: result == "!",
		Shown: repetition.Shown{Tool: "view", Arguments: call, Outcome: "completed", Result: result},
	}
}

func pending(word string) repetition.Pending {
	kind, call, _ := strings.Cut(word, ":")
	return repetition.Pending{Round: 1000, Kind: kinds[kind], Call: call, Shown: repetition.Shown{Tool: "view", Arguments: call, Outcome: "completed", Result: "secret"}}
}

func TestFind(t *testing.T) {
	times := strings.Repeat
	for _, c := range []struct {
		name, script, next string
		level              repetition.Level
		trigger            repetition.Trigger
	}{
		{"nothing has happened", "", "r:a", repetition.None, ""},
		{"the second read", "r:a=1", "r:a", repetition.None, ""},
		{"the third read of an unchanged file", "r:a=1 r:a=1", "r:a", repetition.Soft, repetition.Unchanged},
		{"a file that changed", "r:a=1 r:a=2", "r:a", repetition.None, ""},
		{"another file", "r:a=1 r:a=1", "r:b", repetition.None, ""},
		{"the third command", "c:t=f c:t=f", "c:t", repetition.None, ""},
		{"the fourth command", "c:t=f c:t=f c:t=f", "c:t", repetition.Soft, repetition.Unchanged},
		{"the eighth poll", times("p:j=x ", 7), "p:j", repetition.None, ""},
		{"the ninth poll", times("p:j=x ", 8), "p:j", repetition.Soft, repetition.Unchanged},
		{"polls with news", "p:j=1 p:j=2 p:j=3 p:j=4 p:j=5 p:j=6 p:j=7 p:j=8 p:j=9", "p:j", repetition.None, ""},
		{"edit and test, with changes", "c:e1=1 c:t=f1 c:e2=2 c:t=f2 c:e3=3", "c:t", repetition.None, ""},
		{"an unrelated edit is no help", "c:t=f c:e1=1 c:t=f c:e2=2 c:t=f", "c:t", repetition.Soft, repetition.Unchanged},
		{"two patches in turn, the same failures", "c:A=a c:t=f c:B=b c:t=f c:A=a c:t=f c:B=b", "c:t", repetition.Soft, repetition.Unchanged},
		{"a cycle whose calls bring different things", "c:x=1 c:x=2 r:y=1 c:x=1 c:x=2 r:y=1 c:x=1 c:x=2 r:y=1", "c:x", repetition.Soft, repetition.Cycle},
		{"the cycle is left", "c:x=1 c:x=2 r:y=1 c:x=1 c:x=2 r:y=1 c:x=1 c:x=2 r:y=1", "c:z", repetition.None, ""},
		{"twice around is not enough for commands", "c:x=1 c:x=2 c:y=1 c:x=1 c:x=2 c:y=1", "c:x", repetition.None, ""},
		{"a refusal does not end the row", "r:a=1 r:a=1 r:a=!", "r:a", repetition.Soft, repetition.Unchanged},
		{"refusals alone", "c:a=! c:a=! c:a=!", "c:a", repetition.Soft, repetition.Unchanged},
		{"old suspicion ages out", "r:a=1 r:a=1 " + numbered("r:%d=x ", 9), "r:a", repetition.None, ""},
		{"just not old enough", "r:a=1 r:a=1 " + numbered("r:%d=x ", 8), "r:a", repetition.Soft, repetition.Unchanged},
		{"progress clears", "r:a=1 r:a=1 progress", "r:a", repetition.None, ""},
		{"progress clears what was before it", "r:a=1 r:a=1 progress r:a=1", "r:a", repetition.None, ""},
		{"and nothing after it", "r:a=1 r:a=1 progress r:a=1 r:a=1", "r:a", repetition.Soft, repetition.Unchanged},
		{"yes clears", "r:a=1 r:a=1 yes r:a=1", "r:a", repetition.None, ""},
		{"one call over and over", numbered("c:x=%d ", 16), "c:x", repetition.Soft, repetition.Dominant},
		{"not yet over and over", numbered("c:x=%d ", 15), "c:x", repetition.None, ""},
		{"eleven without news", "c:t=f " + times("c:t=f progress ", 10), "c:t", repetition.None, ""},
		{"twelve without news", "c:t=f " + times("c:t=f progress ", 11), "c:t", repetition.Hard, repetition.Sustained},
		{"something new after twelve", "c:t=f " + times("c:t=f progress ", 11), "c:u", repetition.None, ""},
		{"new evidence starts a fresh episode", "c:t=f " + times("c:t=f progress ", 11) + "r:z=1 progress", "c:t", repetition.None, ""},
		{"twelve test runs across productive work", numbered("c:e=%d c:t=ok ", 14) + "progress", "c:t", repetition.None, ""},
		{"twelve runs in twelve states of the workspace", numbered("c:t=ok@%d ", 14) + "progress", "c:t", repetition.None, ""},
		{"twelve runs in one state", times("c:t=ok@w ", 12) + "progress", "c:t", repetition.Hard, repetition.Sustained},
		{"a long cycle without news", times("c:A=a c:t=f c:B=b c:t=f ", 4) + "progress", "c:t", repetition.Hard, repetition.Sustained},
		{"refusals are no news", "c:a=1 " + times("c:a=! ", 12), "c:a", repetition.Hard, repetition.Sustained},
		{"31 polls", times("p:j=x progress ", 31), "p:j", repetition.None, ""},
		{"32 polls", times("p:j=x progress ", 32), "p:j", repetition.Hard, repetition.Sustained},
		{"polls do not use up what others may", times("p:j=x progress ", 20) + "c:t=f", "c:t", repetition.None, ""},
	} {
		f := turn(c.script).Find(pending(c.next), repetition.Default)
		if f.Level != c.level || f.Trigger != c.trigger {
			t.Errorf("%s: %s %s, want %s %s", c.name, f.Level, f.Trigger, c.level, c.trigger)
		}
	}
}

// A guard that remembers less sees less: neither old attempts count, nor are they shown.
func TestTheWindowBoundsWhatIsSeen(t *testing.T) {
	l := repetition.Default
	l.Window, l.Dominant, l.Period = 8, 8, 4
	s := turn("r:a=1 r:a=1 " + numbered("c:x=%d ", 7))
	if f := s.Find(pending("r:a"), repetition.Default); f.Trigger != repetition.Unchanged || f.Count != 2 {
		t.Fatalf("with all that is kept: %+v", f)
	}
	if f := s.Find(pending("r:a"), l); f.Level != repetition.None {
		t.Errorf("with 8 attempts: %s %s %d", f.Level, f.Trigger, f.Count)
	}
	f := turn(strings.Repeat("c:t=f ", 20)).Find(pending("c:t"), l)
	shown := f.Evidence.Omitted
	for _, x := range f.Evidence.Exchanges {
		shown += len(x.Calls)
	}
	if f.Level != repetition.Hard || shown > 8 {
		t.Errorf("%s, %d attempts are shown", f.Level, shown)
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestCheckpoint(t *testing.T) {
	soft := turn("r:a=1 r:a=1").Find(pending("r:a"), repetition.Default)
	hard := turn(strings.Repeat("c:t=f ", 12)).Find(pending("c:t"), repetition.Default)
	if soft.Checkpoint(repetition.Progress) != "" || (repetition.Finding{Level: repetition.None}).Checkpoint("") != "" {
		t.Error("a person must look for no reason")
	}
	for _, a := range []repetition.Assessment{repetition.Loop, repetition.Uncertain, repetition.TimedOut, repetition.Invalid, repetition.Unavailable, "", "yes"} {
		if why := soft.Checkpoint(a); !strings.Contains(why, "2 attempts") {
			t.Errorf("%q: %q", a, why)
		}
		if why := hard.Checkpoint(repetition.Progress); !strings.Contains(why, "12 attempts") {
			t.Errorf("hard: %q", why)
		}
	}
}

func TestEvidence(t *testing.T) {
	s := turn(numbered("r:f%d=x ", 10) + "r:a=1 r:a=1")
	f := s.Find(repetition.Pending{Round: 11, Kind: repetition.Read, Call: "a", Shown: repetition.Shown{Tool: "view", Arguments: "a", Outcome: "completed", Result: "x"}}, repetition.Default)
	e := f.Evidence
	if len(e.Exchanges) != 7 || e.Exchanges[0].Round != 5 || !e.Exchanges[6].Current || e.Exchanges[5].Current || e.Omitted != 0 {
		t.Errorf("exchanges: %+v", e)
	}
	if e.Pending.Outcome != repetition.NotExecuted || e.Pending.Result != "" {
		t.Errorf("the pending call looks executed: %+v", e.Pending)
	}

	long := repetition.Attempt{Kind: repetition.Read, Call: "a", Result: "1", Shown: repetition.Shown{Tool: "view", Arguments: strings.Repeat("ä", 5000), Result: strings.Repeat("ö", 5000)}}
	var big repetition.State
	for range 32 {
		big = big.Completed(long, repetition.Default)
	}
	e = big.Find(repetition.Pending{Kind: repetition.Read, Call: "a"}, repetition.Default).Evidence
	size := 0
	for _, x := range e.Exchanges {
		for _, c := range x.Calls {
			size += len(c.Arguments) + len(c.Result)
			if !c.Truncated || !strings.HasPrefix(c.Arguments, "ä") {
				t.Fatalf("cut badly: %+v", c)
			}
		}
	}
	if size > 16<<10 || e.Omitted == 0 || len(e.Exchanges) != 1 || !e.Exchanges[0].Current {
		t.Errorf("%d bytes, %d omitted", size, e.Omitted)
	}
}

func TestLimits(t *testing.T) {
	if err := repetition.Default.Check(); err != nil {
		t.Error(err)
	}
	l := repetition.Default
	l.HardPolls = 31
	if err := l.Check(); err == nil || !strings.Contains(err.Error(), "hard_polls") {
		t.Errorf("31 polls: %v", err)
	}
	if err := (repetition.Limits{}).Check(); err == nil {
		t.Error("no limits are fine")
	}
	for tool, want := range map[string]repetition.Kind{"read_file": repetition.Read, "view": repetition.Read, "exec": repetition.Command, "file_edit": repetition.Command, "terminal_read": repetition.Poll, "mcp__a__b": repetition.Command} {
		if got := repetition.KindOf(tool, true); got != want {
			t.Errorf("%s is a %s", tool, got)
		}
	}
	if repetition.KindOf("terminal_read", false) != repetition.Read {
		t.Error("looking at a job that has ended is no poll")
	}
}

var words = rapid.Custom(func(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"r", "c", "p"}).Draw(t, "kind")
	result := rapid.SampledFrom([]string{"1", "2", "!", "1@w", "1@v"}).Draw(t, "result")
	return fmt.Sprintf("%s:%s=%s", kind, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "call"), result)
})

func TestNewCallsPassAndStateIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.OneOf(words, rapid.Just("progress")), 0, 80).Draw(t, "script")
		s := turn(strings.Join(script, " "))
		if f := s.Find(pending("c:never"), repetition.Default); f.Level != repetition.None {
			t.Fatalf("a call that was never made: %+v", f)
		}
		f := s.Find(pending("c:a"), repetition.Default)
		shown := 0
		for _, x := range f.Evidence.Exchanges {
			shown += len(x.Calls)
		}
		if shown+f.Evidence.Omitted > repetition.Default.Window {
			t.Fatalf("%d calls are remembered", shown)
		}
		if f.Level == repetition.None && f.Checkpoint(repetition.Loop) != "" {
			t.Fatal("a checkpoint without a finding")
		}
	})
}

// Work that brings something new with every attempt never needs a person.
func TestProductiveWorkIsNeverStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s repetition.State
		for i := range rapid.IntRange(1, 60).Draw(t, "attempts") {
			call := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "call")
			p := repetition.Pending{Kind: repetition.Command, Call: call}
			switch f := s.Find(p, repetition.Default); f.Level {
			case repetition.Hard:
				t.Fatalf("attempt %d is stopped: %+v", i, f)
			case repetition.Soft:
				if f.Trigger != repetition.Dominant {
					t.Fatalf("attempt %d is checked: %+v", i, f)
				}
				s = s.Progressed()
			}
			s = s.Completed(repetition.Attempt{Kind: repetition.Command, Call: call, Result: fmt.Sprint(i)}, repetition.Default)
		}
	})
}

// Whatever a checker says, the same again and again comes before a person.
func TestNothingNewIsStoppedInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle := rapid.SliceOfN(words, 1, 5).Draw(t, "cycle")
		var s repetition.State
		for i := range 100 {
			word := cycle[i%len(cycle)]
			call, _, _ := strings.Cut(word, "=")
			f := s.Find(pending(call), repetition.Default)
			if f.Level == repetition.Hard {
				return
			}
			if f.Level == repetition.Soft {
				s = s.Progressed()
			}
			s = s.Completed(attempt(i, word), repetition.Default)
		}
		t.Fatalf("%q goes on for ever", cycle)
	})
}
