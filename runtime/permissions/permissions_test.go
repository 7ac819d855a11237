package permissions_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

// desk is a user with a project.
type desk struct {
	t             *testing.T
	user, project string
	log           bytes.Buffer
	files         *permissions.Files
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, user: t.TempDir(), project: t.TempDir()}
	d.files = permissions.New(d.user, slog.New(slog.NewTextHandler(&d.log, nil)))
	return d
}

func (d *desk) write(path, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) setUser(text string) {
	d.t.Helper()
	d.write(filepath.Join(d.user, "config.toml"), text)
}

func (d *desk) setProject(text string) {
	d.t.Helper()
	d.write(filepath.Join(d.project, ".hecate", "config.toml"), text)
}

// entries are what is in force, in one text.
func (d *desk) entries() string {
	var out []string
	for _, e := range d.config().Entries {
		text := string(e.Layer) + " " + e.List + " " + e.Text()
		if e.Reason != "" {
			text += " (" + e.Reason + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func (d *desk) want(entries ...string) {
	d.t.Helper()
	if got := d.entries(); got != strings.Join(entries, "\n") {
		d.t.Errorf("in force is\n%s\nwant\n%s", got, strings.Join(entries, "\n"))
	}
}

func (d *desk) problems() string {
	var out []string
	for _, p := range d.files.ProblemsOf(permissions.Project{Dir: d.project}) {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

func TestFilesAreReadTogether(t *testing.T) {
	d := newDesk(t)
	d.want()
	d.setUser(`
# mine
[permissions]
deny = [
    { pattern = "exec(npm) args(*)", reason = "use pnpm" }, # not npm
    "edit(Cargo.lock)",
]
approve = ["exec(cargo) args(*)"]
promoted = ["shell(make test)"]

[network]
deny = ["Example.COM"]
allow = ["docs.rs"]
`)
	d.setProject("permissions.deny = ['shell']\n[network]\ndeny = [{ host = \"b.example\", reason = 'r' }]\nallow = ['c.example']\n")
	d.want(
		"user network.deny example.com",
		"user permissions.deny exec(npm) args(*) (use pnpm)",
		"user permissions.deny edit(Cargo.lock)",
		"user permissions.approve exec(cargo) args(*)",
		"user permissions.promoted shell(make test)",
		"user network.allow docs.rs",
		"project network.deny b.example (r)",
		"project permissions.deny shell",
	)
	for _, e := range d.config().Entries {
		if e.Text() == "edit(Cargo.lock)" && e.At != filepath.Join(d.user, "config.toml")+":6" {
			t.Errorf("the entry stands at %s", e.At)
		}
		if e.Reason == "use pnpm" && !strings.HasSuffix(e.At, ":5") {
			t.Errorf("the entry stands at %s", e.At)
		}
	}
	if p := d.problems(); !strings.Contains(p, "not in force until it is accepted") {
		t.Errorf("the grants of the project are not mentioned: %s", p)
	}
	if c := d.files.For(permissions.Project{Dir: "not/absolute"}); len(c.Entries) != 6 || c.Digest == "" {
		t.Errorf("without a project: %+v", c)
	}
}

// Each look is at the file as it is, whatever its times and size say.
func TestChangesCountAtOnce(t *testing.T) {
	d := newDesk(t)
	path := filepath.Join(d.project, ".hecate", "config.toml")
	d.setProject(`permissions.deny = ["exec(aa)"]`)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.deny exec(aa)")
	before := d.config().Digest
	d.setProject(`permissions.deny = ["exec(bb)"]`)
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.deny exec(bb)")
	if d.config().Digest == before {
		t.Error("the digest is the same")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d.want()
}

func TestABrokenFileOpensNothing(t *testing.T) {
	good := "[permissions]\ndeny = [\"shell(old)\"]\napprove = [\"exec(go) args(*)\"]\n"
	for name, x := range map[string]struct {
		text, problem string
		added         []string
	}{
		"no toml":                   {"[permissions]\ndeny = [\n  \"exec(rm)\",\n  oops,\n  { pattern = \"exec(npm)\", reason = \"pnpm\" },\n]\n", ":4: refused: [file] it cannot be read", []string{"exec(rm)", "exec(npm) (pnpm)"}},
		"reasons of several lines":  {"[permissions]\ndeny = [\n  { pattern = \"exec(npm)\", reason = \"\"\"\nUse pnpm,\nnot = npm.\"\"\" },\n  \"exec(rm)\",\n  {\n    pattern = \"exec(dd)\",\n    reason = \"no\",\n  },\n  \"edit(x)\" ]\napprove = [ \"exec(\n", ":12: refused: [file] it cannot be read", []string{"exec(npm) (Use pnpm,\nnot = npm.)", "exec(rm)", "exec(dd) (no)", "edit(x)"}},
		"a reason that never ends":  {"[permissions]\ndeny = [\n  { pattern = \"exec(npm)\", reason = \"\"\"oops },\n  \"exec(rm)\",\n  \"edit(x)\" ]\n", "it cannot be read", []string{"exec(rm)", "edit(x)"}},
		"one line":                  {"[network]\nallow = [\n[permissions]\ndeny = [\"exec(rm)\"]\n", "it cannot be read", []string{"exec(rm)"}},
		"no list":                   {"[permissions]\ndeny = \"exec(rm)\"\n", `:2: refused: [permissions.deny] it is not a list; write deny = ["…"]`, nil},
		"odd entry":                 {"[permissions]\ndeny = [\"exec(rm)\", 3]\n", ":2: refused: [permissions.deny] an entry is neither", []string{"exec(rm)"}},
		"a deny that means nothing": {"[permissions]\ndeny = [\"exec(rm)\",\n\"shell(rm *)\"]\n", ":3: refused: [permissions.deny]", []string{"exec(rm)"}},
		"no table":                  {"permissions = 3\n", "it is not a table", nil},
		"too large":                 {"#" + strings.Repeat("x", 1<<20), "it has more than 1048576 bytes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			var denied, kept []string
			for _, s := range x.added {
				denied = append(denied, "user permissions.deny "+s)
			}
			kept = append(append([]string{"user permissions.deny shell(old)"}, denied...), "user permissions.approve exec(go) args(*)")
			d.setUser(x.text)
			d.want(denied...) // nothing was good before
			d.setUser(good)
			d.want("user permissions.deny shell(old)", "user permissions.approve exec(go) args(*)")
			d.setUser(x.text)
			d.want(kept...)
			d.want(kept...)
			if p := d.problems(); !strings.Contains(p, x.problem) || strings.Count(p, "stays in force") != 1 || strings.Count(p, "\n") > 0 {
				t.Errorf("the problem is %s", p)
			}
			if n := strings.Count(d.log.String(), "stays in force"); n != 2 {
				t.Errorf("it was said %d times: %s", n, d.log.String())
			}
			d.setUser("[permissions]\n")
			d.want()
		})
	}
}

func TestOddFilesAreRefused(t *testing.T) {
	d := newDesk(t)
	if err := os.MkdirAll(filepath.Join(d.project, ".hecate", "config.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.want()
	if p := d.problems(); !strings.Contains(p, "it is not a regular file") {
		t.Errorf("the problem is %s", p)
	}
}

// What is not known is named with its line, and the rest of the file counts.
func TestUnknownKeys(t *testing.T) {
	d := newDesk(t)
	d.setUser("[permissions]\ndenny = [\"shell\"]\ndeny = [{ pattern = \"exec(rm)\", why = \"x\" }]\napprove = [\"shell(a *)\", \"nonsense\"]\n\n[lock]\nname = \"x\"\n")
	d.want("user permissions.deny exec(rm)", "user permissions.approve shell(a *)")
	p := d.problems()
	for _, want := range []string{
		":2: refused: [permissions.denny] there is no such key; files have", ":3: refused: [permissions.deny] an entry has no \"why\"",
		":6: refused: [lock] there is no such key", ":4: warning: [permissions.approve]", ":4: refused: [permissions.approve]",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the problems lack %q:\n%s", want, p)
		}
	}
	if d.config().Digest == "" {
		t.Error("there is no digest")
	}
}

// Whatever a file holds, the user's deny entries count and nothing panics.
func FuzzProjectFile(f *testing.F) {
	for _, s := range []string{
		"[permissions]\ndeny = [\"shell\", { pattern = 'x', reason = \"\"\"y\n\"\"\" }]\n", "permissions.deny = [[]]", "[[permissions]]\ndeny = []",
		"permissions = { deny = ['shell'], x = { y = 1 } }", "[network]\ndeny = [{ host = 'a' }, 1979-05-27]", "[a.b]\nc.d = 1\n", "\"permissions\".'deny' = [ # x\n]", "deny = [\"shell",
		"[[locks]]\nname = 'a'\npatterns = ['exec', 1]\n[locks.x]\ny = 1", "locks = [{ name = 1 }, [], { pattern.x = 2 }]", "repetition = { gap = 0x7, enabled = 'x' }\nlocks = {}",
		"repetition.reads = 1_0\n[[repetition]]\ngap = 1.5\n", "\"a.b\".c = [[{}]]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir, user := t.TempDir(), t.TempDir()
		files := permissions.New(user, slog.New(slog.DiscardHandler))
		for path, s := range map[string]string{filepath.Join(dir, "config.toml"): text, filepath.Join(user, "config.toml"): "permissions.deny = ['shell']"} {
			if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, ".hecate"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "config.toml"), filepath.Join(dir, permission.ProjectFile)); err != nil {
			t.Fatal(err)
		}
		for _, e := range files.For(permissions.Project{Dir: dir}).Entries[1:] {
			if e.Layer != permission.LayerProject || e.List != permission.ListDeny && e.List != permission.ListHostDeny {
				t.Errorf("in force is %+v", e)
			}
		}
	})
}

func BenchmarkConfig(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("[permissions]\n"+strings.Repeat("# a line of text\n", 200)+"deny = [\"shell\"]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	f := permissions.New(dir, slog.New(slog.DiscardHandler))
	p := permissions.Project{Dir: dir}
	for b.Loop() {
		if c := f.For(p); len(c.Entries) != 1 || c.Entries[0].List != permission.ListDeny {
			b.Fatal(c)
		}
	}
}
