package main

import (
	"strings"
	"testing"
)

// listed is a provider as a server lists it.
func listed(name string, credentials bool, models ...string) obj {
	p := obj{"name": name, "kind": "cloud", "status": "healthy", "base_url": "https://" + name + ".example", "credential_ready": credentials, "routing_ready": credentials, "models": models}
	checks := []obj{{"name": "credentials", "status": "ok", "message": "A key is configured."}}
	p["readiness"] = obj{"status": "ok", "message": "It is ready."}
	if len(models) > 0 {
		p["default_model"], p["auto_route_ready"] = models[0], credentials
	} else {
		checks = append(checks, obj{"name": "models", "status": "blocked", "message": "It lists no model.", "operator_action": "Load a model there."})
		p["readiness"] = checks[1]
	}
	if !credentials {
		checks[0] = obj{"name": "credentials", "status": "blocked", "message": "An API key is required.", "operator_action": "Set the API key of the provider."}
		p["readiness"] = checks[0]
	}
	p["readiness_checks"] = append(checks, obj{"name": "routing", "status": checks[0]["status"], "message": "Tasks."})
	return p
}

// What can only fail is refused before anything is recorded, with what is missing.
func TestModelIsLookedForFirst(t *testing.T) {
	a, b, keyless, empty := listed("a", true, "m1", "m2"), listed("b", true, "m2"), listed("keyless", false, "m3"), listed("empty", true)
	for name, c := range map[string]struct {
		providers []obj
		args      []string
		say       []string // "" if the task is created
		notice    string
	}{
		"the default":         {[]obj{keyless, a}, nil, nil, ""},
		"its model":           {[]obj{a, b}, []string{"--model", "m2"}, nil, ""},
		"named":               {[]obj{a}, []string{"--provider", "A", "--model", "m1"}, nil, ""},
		"unlisted":            {[]obj{a, b}, []string{"--provider", "a", "--model", "m9"}, nil, "! a does not list the model m9; it is asked"},
		"the only one":        {[]obj{a, keyless}, []string{"--model", "m9"}, nil, "! a does not list the model m9; it is asked"},
		"perhaps it has it":   {[]obj{a, empty}, []string{"--model", "m9"}, nil, ""},
		"nobody":              {[]obj{}, nil, []string{"has no model provider", "For the server", "OPENAI_API_KEY"}, ""},
		"nobody, named":       {[]obj{}, []string{"--provider", "a", "--model", "m1"}, []string{"has no provider a", "OPENAI_API_KEY"}, ""},
		"another":             {[]obj{a}, []string{"--provider", "c", "--model", "m1"}, []string{"has no provider c", "a has m1, m2", "hecate providers"}, ""},
		"without a key":       {[]obj{keyless, a}, []string{"--provider", "keyless", "--model", "m3"}, []string{"provider keyless cannot be asked", "keyless: An API key is required. Set the API key"}, ""},
		"all without a key":   {[]obj{keyless}, nil, []string{"no model provider can be asked", "keyless: An API key is required."}, ""},
		"no model":            {[]obj{empty, keyless}, nil, []string{"none is known of any provider", "empty: It lists no model. Load a model there."}, ""},
		"nobody has it":       {[]obj{a, b}, []string{"--model", "m9"}, []string{"no provider offers the model m9", "a has m1, m2\n", "b has m2\n"}, ""},
		"does not say so yet": {nil, []string{"--model", "m9"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, append(callEvents(1, "Done."), ev("run.finished", obj{})))
			if c.providers != nil {
				s.answers = obj{"/providers/status": c.providers}
			}
			app, _, errs := testApp(t)
			code := app.run(append([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}, c.args...))
			created := strings.Contains(s.requests(), "POST /tasks ")
			if refused := c.say != nil; refused == created || refused != (code == exitFailed) {
				t.Errorf("exit code %d, task created: %v\n%s", code, created, errs)
			}
			check(t, errs.String(), append(c.say, c.notice))
		})
	}
}

func TestProviders(t *testing.T) {
	s := newContractServer(t, nil)
	open := listed("b", true, "m2")
	open["status"], open["routing_ready"], open["last_error"], open["open_until"] = "open", false, "busy\x1b[2J", "2026-01-02T03:04:05Z"
	open["auto_route_ready"] = false
	open["readiness"] = obj{"status": "blocked", "message": "It failed repeatedly.", "operator_action": "Look at last_error."}
	s.answers = obj{"/providers/status": []obj{listed("a", true, "m1"), open, listed("empty", true)}, "/providers/status?refresh=1": []obj{}}
	out := succeed(t, "providers", "--server", s.URL)
	check(t, out, []string{
		"PROVIDER", "a         cloud  healthy  yes       1       m1", "b         cloud  open     no        1", "empty     cloud  healthy  if named  0",
		"! b: It failed repeatedly.\n  Look at last_error.\n  last error: busy\\x1b[2J\n  left alone until 03:04:05\n", "! empty: It lists no model.\n  Load a model there.\n",
	})
	if strings.Contains(out, "! a:") {
		t.Errorf("what is well is complained about:\n%s", out)
	}
	check(t, succeed(t, "providers", "--json", "--server", s.URL), []string{`"name": "a"`})
	check(t, succeed(t, "providers", "--refresh", "--server", s.URL), []string{"no model provider is configured", "ANTHROPIC_API_KEY"})
}
