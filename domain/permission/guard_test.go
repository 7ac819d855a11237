package permission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
)

// guard makes limits of "name=3 name=4".
func guard(text string) (out []permission.GuardLimit) {
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		var n int
		if err := json.Unmarshal([]byte(value), &n); err != nil {
			panic(err)
		}
		out = append(out, permission.GuardLimit{Name: name, Value: n, At: "config.toml:" + name})
	}
	return out
}

// What holds of two files, each of which may set the limits.
func TestLimitsOfBothFiles(t *testing.T) {
	for name, x := range map[string]struct {
		user, project string
		accepted      bool
		want          string // differences to the defaults
		problems      string // names of limits that are refused
	}{
		"nothing":                       {"", "", true, "", ""},
		"the user alone":                {"reads=4 gap=2", "", true, "reads=4 gap=2", ""},
		"a project that is stricter":    {"", "reads=1 period=8 hard=5", false, "reads=1 period=8 hard=5", ""},
		"a project that is looser":      {"", "reads=3 window=16 gap=7", false, "", "reads window gap"},
		"one that is accepted":          {"", "reads=3 window=20 gap=7", true, "reads=3 window=20 gap=7", ""},
		"against the user, stricter":    {"reads=4 window=20", "reads=3 window=24", false, "reads=3 window=24", ""},
		"against the user, looser":      {"reads=1", "reads=2 commands=4", true, "reads=1 commands=4", "reads"},
		"against a user that is looser": {"reads=4", "reads=5", false, "reads=4", "reads"},
		"what makes no sense":           {"reads=0 commands=4", "hard_polls=31", true, "commands=4", "reads hard_polls"},
		"a limit needs another":         {"dominant=8 period=4 window=8", "", true, "window=8 dominant=8 period=4", ""},
		"in any order":                  {"window=8 dominant=8 period=4", "", true, "window=8 dominant=8 period=4", ""},
		"a limit lacks another":         {"period=20 commands=1", "", true, "commands=1", "period"},
		"unknown":                       {"nonsense=3", "", true, "", "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			config, problems := permission.Load(
				permission.Source{Layer: permission.LayerProject, Accepted: x.accepted, Guard: guard(x.project)},
				permission.Source{Layer: permission.LayerUser, Accepted: true, Guard: guard(x.user)},
			)
			if got, want := config.Repetition.Effective(), defaults(t, x.want); got != want {
				t.Errorf("in force: %+v, want %+v", got, want)
			}
			if err := config.Repetition.Effective().Check(); err != nil {
				t.Error(err)
			}
			if (config.Repetition.Limits == nil) != (x.want == "") || (config.Digest == "") != (x.want == "") {
				t.Errorf("set: %v, digest %q", config.Repetition.Limits, config.Digest)
			}
			var refused []string
			for _, p := range problems {
				refused = append(refused, strings.TrimPrefix(p.At, "config.toml:"))
				if !p.Refused || !strings.Contains(p.Message, " ") {
					t.Errorf("the problem is %s", p)
				}
			}
			if got := strings.Join(refused, " "); got != x.problems {
				t.Errorf("refused are %q, want %q", got, x.problems)
			}
		})
	}
}

func defaults(t *testing.T, but string) (l repetition.Limits) {
	t.Helper()
	l = repetition.Default
	for _, x := range guard(but) {
		text, err := json.Marshal(map[string]int{x.Name: x.Value})
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// On is stricter than off.
func TestTheGuardIsSwitched(t *testing.T) {
	on, off := true, false
	for _, x := range []struct {
		user, project *bool
		accepted      bool
		want          string
		problems      int
	}{
		{nil, nil, true, "unset", 0},
		{&on, nil, true, "on", 0},
		{&off, nil, true, "off", 0},
		{&off, &on, false, "on", 0},
		{&on, &off, true, "on", 1},
		{&off, &off, true, "off", 0},
		{nil, &on, false, "on", 0},
		{nil, &off, false, "unset", 1},
		{nil, &off, true, "off", 0},
	} {
		config, problems := permission.Load(
			permission.Source{Layer: permission.LayerUser, Accepted: true, GuardEnabled: x.user},
			permission.Source{Layer: permission.LayerProject, Accepted: x.accepted, GuardEnabled: x.project},
		)
		got, r := "unset", config.Repetition
		switch {
		case r.On(true) != r.On(false):
		case r.On(false):
			got = "on"
		default:
			got = "off"
		}
		if got != x.want || len(problems) != x.problems || (config.Digest == "") != (got == "unset") {
			t.Errorf("%+v: %s, %v, digest %q", x, got, problems, config.Digest)
		}
	}
}

// The digest names whatever is in force.
func TestTheDigestCoversLocksAndLimits(t *testing.T) {
	on, off := true, false
	seen := map[string]int{}
	for i, s := range []permission.Source{
		{},
		{Locks: []permission.LockText{lockText("a", "exec")}},
		{Locks: []permission.LockText{lockText("b", "exec")}},
		{Locks: []permission.LockText{lockText("a", "exec", "shell")}},
		{Locks: []permission.LockText{lockText("a", "exec"), lockText("a", "shell")}},
		{Guard: guard("reads=1")},
		{Guard: guard("commands=1")},
		{GuardEnabled: &on},
		{GuardEnabled: &off},
		{Deny: entries([]string{"exec"})},
		{Deny: entries([]string{"exec"}), GuardEnabled: &on},
	} {
		s.Layer, s.Accepted = permission.LayerUser, true
		config, _ := permission.Load(s)
		if was, twice := seen[config.Digest]; twice {
			t.Errorf("%d and %d have the same digest", was, i)
		}
		seen[config.Digest] = i
	}
}
