package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/runtime/permissions"
)

func (d *desk) config() permission.Config {
	return d.files.For(permissions.Project{Dir: d.project})
}

func (d *desk) wantLocks(argv string, want ...string) {
	d.t.Helper()
	if got := d.config().LocksFor("exec", permission.Facts{Argv: strings.Fields(argv)}); !slices.Equal(got, want) {
		d.t.Errorf("%s takes %q, want %q", argv, got, want)
	}
}

// Locks of both files hold, of a project's file without anybody's consent, from the
// moment on at which they are written.
func TestLocks(t *testing.T) {
	d := newDesk(t)
	d.setUser("[[locks]]\nname = \"test-db\"\npatterns = [\n  \"exec(make) args(test *)\",\n  'exec(go) args(test *)',\n]\n\n[[locks]]\nname = 'all'\npattern = 'exec'\n[permissions]\ndeny = ['exec(rm)']\n")
	d.wantLocks("make test all", "all", "test-db")
	d.setProject("locks = [{ name = 'build-output', patterns = ['exec(make) args(*)'] }, { name = 'all', pattern = 'shell', patterns = ['exec(make) args(*)'] }]\n")
	d.wantLocks("make test", "all", "build-output", "test-db")
	d.wantLocks("ls", "all")
	if p := d.problems(); p != "" {
		t.Errorf("the problems are %s", p)
	}
	before := d.config().Digest
	d.setProject("")
	d.wantLocks("make", "all")
	if d.config().Digest == before {
		t.Error("the digest is the same")
	}
	if l := d.config().Locks[0]; l.At != d.path(permission.LayerUser)+":1" || l.Layer != permission.LayerUser {
		t.Errorf("the lock is %+v", l)
	}
}

// A lock with a mistake is left out by itself.
func TestLocksWithMistakes(t *testing.T) {
	d := newDesk(t)
	d.setUser(`permissions.deny = ["exec(rm)"]
[[locks]]
name = "a b"
pattern = "exec"
[[locks]]
name = "two"
patterns = ["exec", 3]
[[locks]]
name = "three"
patterns = ["exec",
  "nonsense"]
[[locks]]
name = 4
[[locks]]
pattern = ["exec"]
why = 1
[[locks]]
name = "good"
pattern = "exec"
`)
	d.wantLocks("x", "good")
	p := d.problems()
	for _, want := range []string{
		`:2: refused: [locks] lock "a b": a name has`, ":7: refused: [locks] a pattern of a lock is not a text", ":11: refused: [locks] lock three: pattern \"nonsense\"",
		":13: refused: [locks] the name of a lock is not a text", ":15: refused: [locks] pattern of a lock is wrong", `:16: refused: [locks] a lock has no "why"`,
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the problems lack %q:\n%s", want, p)
		}
	}
	d.want("user permissions.deny exec(rm)")
	d.setProject("locks = 3\n")
	d.wantLocks("x", "good")
	d.setProject("locks = [3, { name = 'here', pattern = 'exec' }]\n")
	d.wantLocks("x", "good", "here")
}

func TestLimits(t *testing.T) {
	d := newDesk(t)
	if r := d.config().Repetition; r.Limits != nil || r.Effective() != repetition.Default || r.On(false) || !r.On(true) {
		t.Errorf("without files: %+v", r)
	}
	d.setUser("[repetition]\ncommands = 5\nhard = 1_0 # ten\nenabled = false\n")
	want := repetition.Default
	want.Commands, want.Hard = 5, 10
	if r := d.config().Repetition; r.Effective() != want || r.On(true) {
		t.Errorf("in force: %+v", r)
	}
	before := d.config().Digest
	d.setProject("repetition = { hard = 8, reads = 9, enabled = true }\n")
	want.Hard = 8
	if r := d.config().Repetition; r.Effective() != want || !r.On(false) {
		t.Errorf("in force: %+v", r)
	}
	if p := d.problems(); !strings.Contains(p, "reads = 9 is less strict than 2, which holds until this file is accepted") {
		t.Errorf("the problems are %s", p)
	}
	if err := d.accept(d.status().Digest); err != nil {
		t.Fatal(err)
	}
	want.Reads = 9
	if r := d.config().Repetition; r.Effective() != want {
		t.Errorf("in force: %+v", r)
	}
	if after := d.config().Digest; after == before {
		t.Error("the digest is the same")
	}
}

// A limit that makes no sense leaves what held without it, and says so.
func TestLimitsWithMistakes(t *testing.T) {
	d := newDesk(t)
	d.setUser("[repetition]\nreads = 0\ncommands = \"3\"\npolls = 99999999999\nenabled = 1\nwhy = 2\ngap = 9\nwindow.x = 3\n")
	want := repetition.Default
	want.Gap = 9
	if r := d.config().Repetition; r.Effective() != want || r.Enabled != nil {
		t.Errorf("in force: %+v", r)
	}
	p := d.problems()
	for _, want := range []string{
		":2: refused: [repetition] reads = 0 is not in force, 2 is: ", ":3: refused: [repetition.commands] it is not a whole number", ":4: refused: [repetition.polls] 99999999999 is too large",
		":5: refused: [repetition.enabled] it is neither", ":6: refused: [repetition.why] there is no such limit; limits are window, reads,", ":8: refused: [repetition.window.x] there is no such key",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the problems lack %q:\n%s", want, p)
		}
	}
	// A file that breaks keeps what it said, locks and limits too.
	d.setUser("repetition = { gap = 7 }\nlocks = [{ name = 'a', pattern = 'exec' }]\n")
	d.wantLocks("x", "a")
	d.setUser("repetition = [")
	d.wantLocks("x", "a")
	if d.config().Repetition.Effective().Gap != 7 {
		t.Errorf("in force: %+v", d.config().Repetition.Effective())
	}
}
