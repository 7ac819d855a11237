package permissions_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

func (d *desk) apply(c permission.Change) error {
	d.t.Helper()
	file, err := d.files.Apply(permissions.Project{Dir: d.project}, c)
	if want := d.path(c.Layer); err == nil && file != want {
		d.t.Errorf("%s was changed, want %s", file, want)
	}
	return err
}

func (d *desk) path(l permission.Layer) string {
	if l == permission.LayerUser {
		return filepath.Join(d.user, "config.toml")
	}
	return filepath.Join(d.project, ".hecate", "config.toml")
}

func (d *desk) text(l permission.Layer) string {
	d.t.Helper()
	data, err := os.ReadFile(d.path(l))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

// noLeftovers checks that nothing but the files themselves lies about.
func (d *desk) noLeftovers() {
	d.t.Helper()
	for _, dir := range []string{d.user, filepath.Join(d.project, ".hecate")} {
		found, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			d.t.Fatal(err)
		}
		for _, e := range found {
			if e.Name() != "config.toml" && e.Name() != "accepted.json" {
				d.t.Errorf("there is %s in %s", e.Name(), dir)
			}
		}
	}
}

// mine is a change of the user's file: "+list text" or "-list text".
func mine(what string) permission.Change {
	list, text, _ := strings.Cut(what[1:], " ")
	text, reason, _ := strings.Cut(text, " because ")
	return permission.Change{Layer: permission.LayerUser, List: list, Text: text, Reason: reason, Remove: what[0] == '-'}
}

const (
	approveLS = "+permissions.approve shell(ls)"
	removeLS  = "-permissions.approve shell(ls)"
)

// Edits keep what a person wrote: comments, order, indentation and line ends.
func TestApplyKeepsTheFile(t *testing.T) {
	for name, x := range map[string]struct{ before, change, after string }{
		"empty file":            {"", approveLS, "[permissions]\napprove = [\n    \"shell(ls)\",\n]\n"},
		"no such table":         {"# mine\n[network]\nallow = []", approveLS, "# mine\n[network]\nallow = []\n\n[permissions]\napprove = [\n    \"shell(ls)\",\n]\n"},
		"no such list":          {"[permissions] # p\n  deny = [] # d\n\n[network]\n", approveLS, "[permissions] # p\n  deny = [] # d\n  approve = [\n      \"shell(ls)\",\n  ]\n\n[network]\n"},
		"empty table":           {"[permissions]", approveLS, "[permissions]\napprove = [\n    \"shell(ls)\",\n]\n"},
		"one line":              {"[permissions]\napprove = [\"shell\"] # a\n", approveLS, "[permissions]\napprove = [\"shell\", \"shell(ls)\"] # a\n"},
		"one line, comma":       {"[permissions]\napprove = [ 'shell', ]\n", approveLS, "[permissions]\napprove = [ 'shell', \"shell(ls)\", ]\n"},
		"one line, empty":       {"[permissions]\napprove = [ ]\n", approveLS, "[permissions]\napprove = [\"shell(ls)\"]\n"},
		"lines":                 {"permissions.approve = [\n\t'exec', # all\n\t# more\n]\n", approveLS, "permissions.approve = [\n\t'exec', # all\n\t# more\n\t\"shell(ls)\",\n]\n"},
		"lines, no comma":       {"[permissions]\napprove = [\n  'exec' # all, yes\n  ]\n", approveLS, "[permissions]\napprove = [\n  'exec', # all, yes\n  \"shell(ls)\"\n  ]\n"},
		"lines, bracket behind": {"[permissions]\napprove = ['exec',\n  'grep']\n", approveLS, "[permissions]\napprove = ['exec',\n  'grep', \"shell(ls)\"]\n"},
		"lines, only comments":  {"[permissions]\napprove = [ # a\n  # b\n]\n", approveLS, "[permissions]\napprove = [ # a\n  # b\n    \"shell(ls)\",\n]\n"},
		"lines, CRLF and BOM":   {"\ufeff[permissions]\r\napprove = [\r\n  'exec',\r\n]\r\n# end\r\n", approveLS, "\ufeff[permissions]\r\napprove = [\r\n  'exec',\r\n  \"shell(ls)\",\r\n]\r\n# end\r\n"},
		"no such list, CRLF":    {"[permissions]\r\n", approveLS, "[permissions]\r\napprove = [\r\n    \"shell(ls)\",\r\n]\r\n"},
		"dotted":                {"permissions.deny = []\nx = 1\n[y]\n", approveLS, "permissions.deny = []\npermissions.approve = [\n    \"shell(ls)\",\n]\nx = 1\n[y]\n"},
		"quoted":                {"\"permissions\" . 'approve' = [\"exec\"]\n", approveLS, "\"permissions\" . 'approve' = [\"exec\", \"shell(ls)\"]\n"},
		"inline table":          {"permissions = { deny = [] }\n", approveLS, "permissions = { deny = [], approve = [\"shell(ls)\"] }\n"},
		"inline table, list":    {"permissions = { approve = ['exec'] }\n", approveLS, "permissions = { approve = ['exec', \"shell(ls)\"] }\n"},
		"inline table, empty":   {"permissions = {}\n", approveLS, "permissions = { approve = [\"shell(ls)\"] }\n"},
		"table below":           {"[permissions.x]\ny = 1\n", approveLS, "[permissions.x]\ny = 1\n\n[permissions]\napprove = [\n    \"shell(ls)\",\n]\n"},
		"reasons": {
			"[permissions]\ndeny = [\n    { pattern = \"exec(npm) args(*)\", reason = \"\"\"\nUse pnpm.\n], \"x\"\n\"\"\" }, # npm\n]\n", "+permissions.deny exec(yarn) args(*) because Use pnpm:\n\t\"pnpm install\"",
			"[permissions]\ndeny = [\n    { pattern = \"exec(npm) args(*)\", reason = \"\"\"\nUse pnpm.\n], \"x\"\n\"\"\" }, # npm\n    { pattern = \"exec(yarn) args(*)\", reason = \"Use pnpm:\\n\\t\\\"pnpm install\\\"\" },\n]\n",
		},
		"host with a reason":        {"[network]\ndeny = []\n", "+network.deny ads.example because no", "[network]\ndeny = [{ host = \"ads.example\", reason = \"no\" }]\n"},
		"there in another spelling": {"[permissions]\napprove = [ 'shell_exec(ls)' ]\n", approveLS, "[permissions]\napprove = [ 'shell_exec(ls)' ]\n"},
		"there with a reason":       {"[network]\nallow = [{ host = 'DOCS.rs.' }]", "+network.allow docs.rs because x", "[network]\nallow = [{ host = 'DOCS.rs.' }]"},
		"not there":                 {"[permissions]\napprove = ['exec']\n", removeLS, "[permissions]\napprove = ['exec']\n"},
		"remove alone":              {"[permissions]\napprove = ['shell(ls)'] # a\n", removeLS, "[permissions]\napprove = [] # a\n"},
		"remove the first":          {"[permissions]\napprove = ['shell(ls)', 'exec']\n", removeLS, "[permissions]\napprove = ['exec']\n"},
		"remove the last":           {"[permissions]\napprove = ['exec', 'shell(ls)']\n", removeLS, "[permissions]\napprove = ['exec']\n"},
		"remove a line":             {"[permissions]\napprove = [\n  # all\n  'exec', # e\n  'shell(ls)', # l\n  'grep' # g\n]\n", removeLS, "[permissions]\napprove = [\n  # all\n  'exec', # e\n  'grep' # g\n]\n"},
		"remove the last line":      {"permissions.approve = [\r\n  'exec',\r\n  'shell(ls)' # l\r\n]", removeLS, "permissions.approve = [\r\n  'exec',\r\n]"},
		"remove odd commas":         {"[permissions]\napprove = [\n  'exec'\n  , 'shell(ls)'\n  , 'grep'\n]\n", removeLS, "[permissions]\napprove = [\n  'exec'\n  , 'grep'\n]\n"},
		"remove behind a comment":   {"[permissions]\napprove = ['exec', # e\n  'shell(ls)']\n", removeLS, "[permissions]\napprove = ['exec', # e\n  ]\n"},
		"remove every spelling":     {"[permissions]\napprove = ['shell(ls)', 'exec', { pattern = 'shell_exec(ls)' }]\n", removeLS, "[permissions]\napprove = ['exec']\n"},
		"remove what has no meaning": {
			"[permissions]\ndeny = ['exec(rm)', 'shell(rm *)']\n", "-permissions.deny shell(rm *)", "[permissions]\ndeny = ['exec(rm)']\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.setUser(x.before)
			if err := d.apply(mine(x.change)); err != nil {
				t.Fatal(err)
			}
			if got := d.text(permission.LayerUser); got != x.after {
				t.Errorf("the file is\n%q, want\n%q", got, x.after)
			}
			d.noLeftovers()
		})
	}
}

// A file that cannot be changed for certain is left alone, and the error says why.
func TestApplyRefuses(t *testing.T) {
	for name, x := range map[string]struct{ before, change, code string }{
		"no TOML":                {"[permissions]\napprove = [", approveLS, "permission_file_broken"},
		"removing in no TOML":    {"[permissions]\napprove = ['shell(ls)'", removeLS, "permission_file_broken"},
		"no table":               {"permissions = 3\n", approveLS, "permission_file_broken"},
		"tables":                 {"[[permissions]]\napprove = []\n", approveLS, "permission_file_broken"},
		"no list":                {"[permissions]\napprove = 'exec'\n", approveLS, "permission_file_broken"},
		"a deny without meaning": {"[permissions]\ndeny = ['shell(rm *)']\n", approveLS, "permission_file_broken"},
		"no entry":               {"[permissions]\napprove = [['exec'], 'shell(ls)']\n", removeLS, "permission_file_odd"},
		"full":                   {"#" + strings.Repeat("x", 1<<20-2) + "\n", approveLS, "permission_file_full"},
		"no such list":           {"", "+permissions.allow shell(ls)", "permission_change_invalid"},
		"a wildcard":             {"", "+permissions.deny shell(rm *)", "permission_change_invalid"},
		"a URL":                  {"", "+permissions.approve web_fetch(https://docs.rs/*)", "permission_change_invalid"},
		"no host":                {"", "+network.allow *.example", "permission_change_invalid"},
		"nothing":                {"", "-network.allow ", "permission_change_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.setUser(x.before)
			err := d.apply(mine(x.change))
			if f, ok := fault.Of(err); !ok || f.Code != x.code {
				t.Errorf("the error is %v, want %s", err, x.code)
			}
			if got := d.text(permission.LayerUser); got != x.before {
				t.Errorf("the file is %q", got)
			}
			d.noLeftovers()
		})
	}
}

// A command that looks like the end of its entry and another key stays one entry.
func TestAnEntryCannotBreakOut(t *testing.T) {
	const command = "echo \"a\\b]]\"\napprove = [\"shell\"]\n'''\"\"\" \x01\x7f\u202e # ]"
	d := newDesk(t)
	d.setUser("[permissions]\napprove = [\n  \"exec\",\n]\n[network]\nallow = [\"docs.rs\"]\n")
	if err := d.apply(permission.Change{Layer: permission.LayerUser, List: permission.ListPromoted, Text: "shell(" + command + ")", Reason: command}); err != nil {
		t.Fatal(err)
	}
	d.want("user permissions.approve exec", "user permissions.promoted shell("+command+") ("+command+")", "user network.allow docs.rs")
	if p := d.problems(); p != "" {
		t.Errorf("the problems are %s", p)
	}
	text := d.text(permission.LayerUser)
	if strings.ContainsAny(text, "\x01\x7f\u202e") || strings.Count(text, "\n") != 9 {
		t.Errorf("the file is %q", text)
	}
}

func TestFilesAreMade(t *testing.T) {
	d := newDesk(t)
	d.user = filepath.Join(d.user, "config", "hecate")
	d.files = permissions.New(d.user, slog.New(slog.DiscardHandler))
	for _, layer := range []permission.Layer{permission.LayerUser, permission.LayerProject} {
		gone := permission.Change{Layer: layer, List: permission.ListApprove, Text: "shell", Remove: true}
		if err := d.apply(gone); err != nil {
			t.Errorf("taking out of nothing: %v", err)
		}
		if _, err := os.Lstat(filepath.Dir(d.path(layer))); err == nil {
			t.Errorf("%s was made for nothing", d.path(layer))
		}
		if err := d.apply(permission.Change{Layer: layer, List: permission.ListApprove, Text: "shell(" + string(layer) + ")"}); err != nil {
			t.Fatal(err)
		}
	}
	d.want("user permissions.approve shell(user)", "project permissions.approve shell(project)")
	for path, want := range map[string]fs.FileMode{
		d.user: 0o700, d.path(permission.LayerUser): 0o600, filepath.Join(d.user, "accepted.json"): 0o600, d.path(permission.LayerProject): 0o644,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(d.path(permission.LayerUser), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := d.apply(mine(approveLS)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.path(permission.LayerUser)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v (%v)", info.Mode(), err)
	}
	d.noLeftovers()
}

func TestThereMustBeAPlace(t *testing.T) {
	files := permissions.New("", slog.New(slog.DiscardHandler))
	for layer, code := range map[permission.Layer]string{permission.LayerUser: "permission_user_dir", permission.LayerProject: "permission_no_project"} {
		_, err := files.Apply(permissions.Project{}, permission.Change{Layer: layer, List: permission.ListDeny, Text: "shell"})
		if f, ok := fault.Of(err); !ok || f.Code != code {
			t.Errorf("%s: %v", layer, err)
		}
	}
	dir := t.TempDir()
	if _, err := files.Apply(permissions.Project{Dir: dir}, permission.Change{Layer: permission.LayerProject, List: permission.ListDeny, Text: "shell"}); err != nil {
		t.Errorf("a deny needs no acceptance: %v", err)
	}
	if _, err := files.Apply(permissions.Project{Dir: filepath.Join(dir, "gone")}, permission.Change{Layer: permission.LayerProject, List: permission.ListDeny, Text: "shell"}); err == nil {
		t.Error("a project was made")
	}
	if _, err := files.Apply(permissions.Project{File: filepath.Join(dir, "gone", "x.toml")}, permission.Change{Layer: permission.LayerProject, List: permission.ListDeny, Text: "shell"}); err == nil {
		t.Error("a directory was made")
	}
}

// A link does not lead a change to another place.
func TestApplyFollowsNoLink(t *testing.T) {
	elsewhere := t.TempDir()
	other := filepath.Join(elsewhere, "config.toml")
	for name, link := range map[string]func(d *desk) (from, to string, l permission.Layer){
		"user's file": func(d *desk) (string, string, permission.Layer) {
			return d.path(permission.LayerUser), other, permission.LayerUser
		},
		"project's file": func(d *desk) (string, string, permission.Layer) {
			return d.path(permission.LayerProject), other, permission.LayerProject
		},
		"directory": func(d *desk) (string, string, permission.Layer) {
			return filepath.Join(d.project, ".hecate"), elsewhere, permission.LayerProject
		},
		"directory inside": func(d *desk) (string, string, permission.Layer) {
			return filepath.Join(d.project, ".hecate"), ".", permission.LayerProject
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.write(other, "# other\n")
			from, to, layer := link(d)
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, from); err != nil {
				t.Fatal(err)
			}
			err := d.apply(permission.Change{Layer: layer, List: permission.ListDeny, Text: "shell"})
			if f, ok := fault.Of(err); !ok || f.Code != "permission_file_link" {
				t.Errorf("the error is %v", err)
			}
			if text, err := os.ReadFile(other); err != nil || string(text) != "# other\n" {
				t.Errorf("the other file is %q (%v)", text, err)
			}
			if info, err := os.Lstat(from); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link is gone: %v, %v", info, err)
			}
		})
	}
}

func TestChangesAtTheSameTime(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all.Go(func() {
			if err := d.apply(mine("+permissions.approve shell(" + name + ")")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c := d.files.For(permissions.Project{}); len(c.Entries) != 8 {
		t.Errorf("in force:\n%s", d.entries())
	}
	d.noLeftovers()
}
