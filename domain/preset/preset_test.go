package preset_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/preset"
)

func ptr[T any](v T) *T { return &v }

// browsing is a policy with all that a browser grant needs.
func browsing() preset.Definition {
	return preset.Definition{
		Name: "Browsing", Surface: preset.SurfaceTask, ToolsEnabled: true, BrowserAllowed: true, BrowserInteractions: true,
		BrowserOrigins: []string{"https://docs.example"},
	}
}

func kindOf(err error) fault.Kind {
	if f, ok := fault.Of(err); ok {
		return f.Kind
	}
	return ""
}

// What is left out forbids, and inherits.
func TestDefaults(t *testing.T) {
	d, err := preset.Definition{Name: "  Careful ", Instructions: "\n be careful\n", SkillIDs: []string{" a ", "", "b", "a"}}.Normalize()
	want := preset.Definition{
		Name: "Careful", Instructions: "be careful", Surface: preset.SurfaceAny, Approval: preset.ApprovalInherit,
		ProjectMemory: "inherit", ContextSources: "inherit", SkillIDs: []string{"a", "b"},
	}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, %v", d, err)
	}
	if again, err := d.Normalize(); err != nil || !reflect.DeepEqual(again, d) {
		t.Errorf("normalizing twice gives %+v, %v", again, err)
	}
}

// What a policy cannot be is refused, and the field is named.
func TestWhatIsNoPolicy(t *testing.T) {
	many := make([]string, preset.ListMax+1)
	options := map[string]string{}
	for i := range many {
		many[i] = strconv.Itoa(i)
		options[many[i]] = ""
	}
	for field, change := range map[string]func(*preset.Definition){
		"name":                          func(d *preset.Definition) { d.Name = " " },
		"name has":                      func(d *preset.Definition) { d.Name = strings.Repeat("n", preset.NameMax+1) },
		"description":                   func(d *preset.Definition) { d.Description = strings.Repeat("n", preset.FieldMax+1) },
		"instructions":                  func(d *preset.Definition) { d.Instructions = strings.Repeat("n", preset.InstructionsMax+1) },
		"model_hint must":               func(d *preset.Definition) { d.ModelHint = "a\x00b" },
		"provider_hint must":            func(d *preset.Definition) { d.ProviderHint = "a\xffb" },
		"surface":                       func(d *preset.Definition) { d.Surface = "ANY" },
		"approval_policy":               func(d *preset.Definition) { d.Approval = "deny" },
		"project_memory_policy":         func(d *preset.Definition) { d.ProjectMemory = "include_enabled" },
		"context_source_policy":         func(d *preset.Definition) { d.ContextSources = "include" },
		"skill_ids":                     func(d *preset.Definition) { d.SkillIDs = many },
		"external_agent_options":        func(d *preset.Definition) { d.ExternalAgentOptions = options },
		"without a name":                func(d *preset.Definition) { d.ExternalAgentOptions = map[string]string{" ": "x"} },
		"tools_enabled":                 func(d *preset.Definition) { d.ToolsEnabled = false },
		"not hecate_chat":               func(d *preset.Definition) { d.Surface = preset.SurfaceChat },
		"not external_agent":            func(d *preset.Definition) { d.Surface = preset.SurfaceExternal },
		"need browser_allowed_origins":  func(d *preset.Definition) { d.BrowserOrigins = nil },
		"browser_allowed_origins has":   func(d *preset.Definition) { d.BrowserOrigins = many },
		"browser_allowed_origins: \"/x": func(d *preset.Definition) { d.BrowserOrigins = []string{"/x"} },
	} {
		d := browsing()
		change(&d)
		_, err := d.Normalize()
		if kindOf(err) != fault.KindInvalid || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Origins have one spelling, and what is more than an origin is none.
func TestOrigins(t *testing.T) {
	for text, want := range map[string]string{
		" HTTPS://Docs.Example/ ":              "https://docs.example",
		"https://docs.example:443":             "https://docs.example",
		"https://docs.example.":                "https://docs.example",
		"http://docs.example:80":               "http://docs.example",
		"http://docs.example:443":              "http://docs.example:443",
		"http://localhost:3000":                "http://localhost:3000",
		"https://[::1]:8443":                   "https://[::1]:8443",
		"https://xn--bcher-kva.example":        "https://xn--bcher-kva.example",
		"https://bücher.example":               "",
		"https://*.example":                    "",
		"https://docs.example/a":               "",
		"https://docs.example?":                "",
		"https://docs.example#":                "",
		"https://docs.example/#x":              "",
		"https://me@docs.example":              "",
		"https://docs.example:0":               "",
		"https://docs.example:65536":           "",
		"https://0x7f.1":                       "",
		"https://":                             "",
		"https:docs.example":                   "",
		"ftp://docs.example":                   "",
		"javascript:alert(1)":                  "",
		"docs.example":                         "",
		"":                                     "",
		`https://docs.example\@x.y`:            "",
		"https://" + strings.Repeat("a.", 200): "",
	} {
		d := browsing()
		d.BrowserOrigins = []string{text, text}
		d, err := d.Normalize()
		switch {
		case want == "" && kindOf(err) != fault.KindInvalid:
			t.Errorf("%q is taken for %q, %v", text, d.BrowserOrigins, err)
		case want != "" && (err != nil || !reflect.DeepEqual(d.BrowserOrigins, []string{want})):
			t.Errorf("%q gives %q, %v", text, d.BrowserOrigins, err)
		}
	}
}

// An origin that is accepted is a scheme, a host and a port, in a spelling that stays.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://docs.example", "HTTP://[::1]:80/", "https://a@b", "https://1.2.3.4:1", "https://x/%2e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := browsing()
		d.BrowserOrigins = []string{text}
		d, err := d.Normalize()
		if err != nil {
			return
		}
		origin := d.BrowserOrigins[0]
		_, rest, ok := strings.Cut(origin, "://")
		if !ok || strings.ContainsAny(rest, "/?#@*% \\") || strings.ToLower(origin) != origin {
			t.Errorf("%q gives %q", text, origin)
		}
		if again, err := d.Normalize(); err != nil || again.BrowserOrigins[0] != origin {
			t.Errorf("%q gives %q, and that %q, %v", text, origin, again.BrowserOrigins, err)
		}
	})
}

// Only what is sent changes, and taking away what a grant needs takes the grant away.
func TestChange(t *testing.T) {
	for name, c := range map[string]struct {
		change  preset.Change
		want    func(*preset.Definition)
		invalid bool
	}{
		"nothing":        {want: func(*preset.Definition) {}},
		"a name":         {change: preset.Change{Name: ptr("Other")}, want: func(d *preset.Definition) { d.Name = "Other" }},
		"writes":         {change: preset.Change{WritesAllowed: ptr(true)}, want: func(d *preset.Definition) { d.WritesAllowed = true }},
		"a default":      {change: preset.Change{Surface: ptr(" ")}, want: func(d *preset.Definition) { d.Surface = preset.SurfaceAny }},
		"any surface":    {change: preset.Change{Surface: ptr(" any ")}, want: func(d *preset.Definition) { d.Surface = preset.SurfaceAny }},
		"other origins":  {change: preset.Change{BrowserOrigins: []string{"http://b.example"}}, want: func(d *preset.Definition) { d.BrowserOrigins = []string{"http://b.example"} }},
		"no skills":      {change: preset.Change{SkillIDs: []string{}}, want: func(d *preset.Definition) { d.SkillIDs = nil }},
		"one grant less": {change: preset.Change{BrowserAllowed: ptr(false)}, want: func(d *preset.Definition) { d.BrowserAllowed = false }},
		"no grants": {
			change: preset.Change{BrowserAllowed: ptr(false), BrowserInteractions: ptr(false)},
			want: func(d *preset.Definition) {
				d.BrowserAllowed, d.BrowserInteractions, d.BrowserOrigins = false, false, nil
			},
		},
		"no tools": {change: preset.Change{ToolsEnabled: ptr(false)}, want: func(d *preset.Definition) {
			d.ToolsEnabled, d.BrowserAllowed, d.BrowserInteractions, d.BrowserOrigins = false, false, false, nil
		}},
		"no task": {change: preset.Change{Surface: ptr(" hecate_chat ")}, want: func(d *preset.Definition) {
			d.Surface, d.BrowserAllowed, d.BrowserInteractions, d.BrowserOrigins = preset.SurfaceChat, false, false, nil
		}},
		"a contradiction": {change: preset.Change{ToolsEnabled: ptr(false), BrowserAllowed: ptr(true)}, invalid: true},
		"no origins":      {change: preset.Change{BrowserOrigins: []string{}}, invalid: true},
		"no name":         {change: preset.Change{Name: ptr("")}, invalid: true},
	} {
		before := browsing()
		before.SkillIDs = []string{"a"}
		before, err := before.Normalize()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.change.Of(before).Normalize()
		if c.invalid {
			if kindOf(err) != fault.KindInvalid {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := before
		c.want(&want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v, %v", name, got, want, err)
		}
	}
}

// Every field of a policy can be changed.
func TestChangeReachesAllFields(t *testing.T) {
	change, definition := reflect.TypeFor[preset.Change](), reflect.TypeFor[preset.Definition]()
	if change.NumField() != definition.NumField() {
		t.Fatalf("a change has %d fields, a definition %d", change.NumField(), definition.NumField())
	}
	for i := range change.NumField() {
		f := change.Field(i)
		var c preset.Change
		value := reflect.New(f.Type).Elem()
		switch f.Type.Kind() {
		case reflect.Pointer:
			value.Set(reflect.New(f.Type.Elem()))
			switch e := value.Elem(); e.Kind() {
			case reflect.Bool:
				e.SetBool(true)
			default:
				e.SetString("x")
			}
		case reflect.Slice:
			value.Set(reflect.ValueOf([]string{"x"}))
		default:
			value.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		}
		reflect.ValueOf(&c).Elem().Field(i).Set(value)
		got := reflect.ValueOf(c.Of(preset.Definition{})).FieldByName(f.Name)
		if !got.IsValid() || got.IsZero() {
			t.Errorf("a change of %s is lost", f.Name)
		}
	}
}

// A policy lives once under its id, and the built-in ones always.
func TestLife(t *testing.T) {
	s := preset.New("mine")
	apply := func(payloads []event.Payload, err error) {
		t.Helper()
		if err != nil || len(payloads) != 1 {
			t.Fatalf("%v, %v", payloads, err)
		}
		s.Apply(event.Event{Payload: payloads[0]})
	}
	refused := func(want fault.Kind, _ []event.Payload, err error) {
		t.Helper()
		if kindOf(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	update := func(c preset.Change) ([]event.Payload, error) { return preset.Update(s, c) }
	p, err := update(preset.Change{})
	refused(fault.KindNotFound, p, err)
	p, err = preset.Delete(s)
	refused(fault.KindNotFound, p, err)
	apply(preset.Create(s, browsing()))
	p, err = preset.Create(s, browsing())
	refused(fault.KindConflict, p, err)
	if p, err := update(preset.Change{Name: ptr(" Browsing ")}); err != nil || len(p) != 0 {
		t.Errorf("changing nothing gives %v, %v", p, err)
	}
	apply(update(preset.Change{Name: ptr("Other")}))
	p, err = update(preset.Change{Surface: ptr("nowhere")})
	refused(fault.KindInvalid, p, err)
	apply(preset.Delete(s))
	p, err = preset.Delete(s)
	refused(fault.KindNotFound, p, err)
	apply(preset.Create(s, preset.Definition{Name: "Again"}))
	if s.Visible() != nil || s.Definition.Name != "Again" || s.Definition.ToolsEnabled {
		t.Errorf("%+v", s)
	}
	for _, b := range preset.BuiltIns() {
		s := preset.New(b.ID)
		p, err := preset.Create(s, browsing())
		refused(fault.KindConflict, p, err)
		p, err = preset.Update(s, preset.Change{})
		refused(fault.KindConflict, p, err)
		p, err = preset.Delete(s)
		refused(fault.KindConflict, p, err)
	}
}

// The built-in policies are policies, in order, and hand out nothing of their own.
func TestBuiltIns(t *testing.T) {
	last := ""
	for _, b := range preset.BuiltIns() {
		d, err := b.Definition.Normalize()
		if err != nil || !reflect.DeepEqual(d, b.Definition) || preset.CheckID(b.ID) != nil || b.ID <= last || !b.BuiltIn || !b.Exists {
			t.Errorf("%+v, %v", b, err)
		}
		last = b.ID
	}
	preset.BuiltIns()[0].Definition.ToolsEnabled = false
	if !preset.New("architecture").Definition.ToolsEnabled {
		t.Error("a built-in policy was changed")
	}
}

func TestIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "prof_0123": true, "A.b-c_9": true, strings.Repeat("a", 128): true,
		"": false, "_a": false, ".a": false, "a b": false, "a/b": false, "é": false, strings.Repeat("a", 129): false, "a\x00": false,
	} {
		if err := preset.CheckID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
