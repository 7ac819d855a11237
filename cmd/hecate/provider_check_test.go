package main

import (
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/runtime/model/scripted"
)

// checkedApp is a process whose environment configures the scripted model as provider fake.
func checkedApp(t *testing.T, model *scripted.Server) (*app, func() (string, string)) {
	base, stop, err := model.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	a, out, errs := testApp(t)
	a.environ = append(a.environ, "PROVIDER_FAKE_PRECONFIGURED=true", "PROVIDER_FAKE_KIND=local", "PROVIDER_FAKE_BASE_URL="+base)
	return a, func() (string, string) { return out.String(), errs.String() }
}

// goodModel does what the checks ask for.
func goodModel() *scripted.Server {
	always := func(marker string, r scripted.Reply) scripted.Script {
		return scripted.Script{Marker: marker, Replies: []scripted.Reply{r}, Repeat: true}
	}
	call := scripted.ToolCall
	return scripted.New(
		always("The sum is 42.", scripted.Reply{Text: "It is 42."}),
		always("single word", scripted.Reply{Text: "ready", Usage: &[2]int64{20, 2}}),
		always("with a = 17", scripted.Reply{Calls: []scripted.Call{call("c1", "add_numbers", `{"a": 17, "b": 25}`)}}),
		always("get_weather twice", scripted.Reply{Calls: []scripted.Call{call("c1", "get_weather", `{"city":"Oslo"}`), call("c2", "get_weather", `{"city":"Rome"}`)}}),
		always("Call the tool current_time", scripted.Reply{Calls: []scripted.Call{call("c1", "current_time", "{}")}}),
		always("Repeat this line", scripted.Reply{Text: "Grüße, 世界 ✅ 🚀"}),
		always("from 1 to 200", scripted.Reply{Text: "1\n2\n3", FinishReason: "length"}),
	)
}

// A provider that keeps to its protocol passes, each check on a line.
func TestProviderCheck(t *testing.T) {
	a, said := checkedApp(t, goodModel())
	code := a.run([]string{"provider", "check", "FAKE"})
	out, errs := said()
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	check(t, out, []string{
		"scripted-model of fake\n", "✓ model list              It lists 1, and scripted-model is among them.",
		"✓ parallel tool calls     2 calls came in one answer", "11 passed, 0 odd, 0 failed: tasks can rely on it\n",
	})

	a, said = checkedApp(t, goodModel())
	a.outStyle = terminal.Style{Columns: 60, Redraws: true}
	if code := a.run([]string{"provider", "check", "fake", "--model", "another"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out, _ = said()
	check(t, out, []string{"another of fake\n", "\x1b[?7l\r… check 1", "! model list", "10 passed, 1 odd, 0 failed: tasks will work"})
	for line := range strings.SplitSeq(out[strings.LastIndex(out, "✓"):], "\n") {
		if at := strings.LastIndex(line, "\x1b[J"); at >= 0 { // what stood there before
			line = line[at+len("\x1b[J"):]
		}
		if terminal.Columns(line) > 60 {
			t.Errorf("too long for the screen: %q", line)
		}
	}
}

// What tasks would fail at decides the exit code.
func TestProviderCheckFails(t *testing.T) {
	refusing := scripted.New(scripted.Script{Repeat: true, Replies: []scripted.Reply{{HTTP: 401, Body: []byte(`{"error":{"message":"who are you?"}}`)}}})
	a, said := checkedApp(t, refusing)
	if code := a.run([]string{"provider", "check", "fake"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	out, _ := said()
	check(t, out, []string{"✗ answer", "1 failed: tasks will fail\n"})

	a, said = checkedApp(t, refusing)
	if code := a.run([]string{"provider", "check", "fake", "--json"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	out, _ = said()
	if check(t, out, []string{`{"name":"answer","status":"fail",`}); strings.Count(out, "\n") != 2 {
		t.Errorf("JSON lines:\n%s", out)
	}
}

// Without a provider of that name, or a model of it, it is said what there is.
func TestProviderCheckOfNobody(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		environ []string
		say     []string
	}{
		"another":    {[]string{"nobody", "-m", "m"}, []string{"PROVIDER_OTHER_PRECONFIGURED=1", "PROVIDER_OTHER_KIND=local", "PROVIDER_OTHER_BASE_URL=http://127.0.0.1:1"}, []string{`provider "nobody" is not configured`, "configures: other"}},
		"none":       {[]string{"nobody", "-m", "m"}, nil, []string{`provider "nobody" is not configured`, "OPENAI_API_KEY"}},
		"not there":  {[]string{"other"}, []string{"PROVIDER_OTHER_PRECONFIGURED=1", "PROVIDER_OTHER_KIND=local", "PROVIDER_OTHER_BASE_URL=http://127.0.0.1:1"}, []string{"ask other for its models", "Is it running? http://127.0.0.1:1"}},
		"known here": {[]string{"ollama"}, []string{"PROVIDER_OLLAMA_BASE_URL=http://127.0.0.1:1"}, []string{"ask ollama for its models", "Is it running? http://127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, errs := testApp(t)
			a.environ = append(a.environ, c.environ...)
			if code := a.run(append([]string{"provider", "check"}, c.args...)); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			check(t, errs.String(), c.say)
		})
	}
}
