package permissions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

func (d *desk) status() permissions.Status {
	return d.files.Status(permissions.Project{Dir: d.project})
}

func (d *desk) accept(digest string) error {
	return d.files.Accept(permissions.Project{Dir: d.project}, digest)
}

// restart is another process of the same user, or this one later.
func (d *desk) restart() *desk {
	next := &desk{t: d.t, user: d.user, project: d.project}
	next.files = permissions.New(d.user, slog.New(slog.NewTextHandler(&next.log, nil)))
	return next
}

func theirs(list, text string) permission.Change {
	return permission.Change{Layer: permission.LayerProject, List: list, Text: text}
}

const cloned = "[permissions]\ndeny = ['exec(rm)']\napprove = ['shell']\npromoted = ['nonsense', 'exec']\n[network]\npromoted = ['evil.example']\n"

// A file that came with a project opens nothing until its user has accepted it as it
// is, in every process of the user, and not after somebody else has changed it.
func TestAcceptance(t *testing.T) {
	d := newDesk(t)
	const deny = "project permissions.deny exec(rm)"
	all := []string{deny, "project permissions.approve shell", "project permissions.promoted exec", "project network.promoted evil.example"}
	d.setProject(cloned)
	d.want(deny)
	other := d.restart()
	other.want(deny)

	s := d.status()
	sum := sha256.Sum256([]byte(cloned))
	if !s.Exists || s.Accepted || s.Digest != hex.EncodeToString(sum[:]) || s.ProjectFile != d.path(permission.LayerProject) || s.UserFile != d.path(permission.LayerUser) {
		t.Errorf("the status is %+v", s)
	}
	var waiting []string
	for _, e := range s.Waiting {
		waiting = append(waiting, e.Text())
	}
	if got := strings.Join(waiting, " "); got != "shell exec evil.example" {
		t.Errorf("waiting are %s", got)
	}
	if err := d.accept(s.Digest[1:] + "0"); !is(err, "permission_file_changed") {
		t.Errorf("accepting another text: %v", err)
	}
	d.want(deny)
	if err := d.accept(s.Digest); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*desk{d, other, d.restart()} {
		x.want(all...)
		if s := x.status(); !s.Accepted || len(s.Waiting) != 0 {
			t.Errorf("the status is %+v", s)
		}
	}

	d.setProject(strings.Replace(cloned, "exec(rm)", "exec(mv)", 1))
	d.want("project permissions.deny exec(mv)")
	other.want("project permissions.deny exec(mv)")
	d.setProject(cloned)
	d.want(all...)
	if err := os.Remove(d.path(permission.LayerProject)); err != nil {
		t.Fatal(err)
	}
	if err := d.accept(s.Digest); !is(err, "permission_file_missing") {
		t.Errorf("accepting nothing: %v", err)
	}
	if s := d.status(); s.Exists || s.Accepted {
		t.Errorf("the status is %+v", s)
	}
}

func is(err error, code string) bool {
	f, ok := fault.Of(err)
	return ok && f.Code == code
}

// A text that is shut out must not bring what an earlier one granted.
func TestABrokenFileIsNotAccepted(t *testing.T) {
	d := newDesk(t)
	d.setProject(cloned)
	d.want("project permissions.deny exec(rm)")
	for _, broken := range []string{"permissions.deny = [", "permissions.deny = ['shell(rm *)']"} {
		d.setProject(broken)
		sum := sha256.Sum256([]byte(broken))
		if err := d.accept(hex.EncodeToString(sum[:])); !is(err, "permission_file_broken") {
			t.Errorf("accepting %q: %v", broken, err)
		}
		if s := d.status(); s.Digest != "" || s.Accepted || len(s.Waiting) != 0 {
			t.Errorf("the status is %+v", s)
		}
		d.want("project permissions.deny exec(rm)")
	}
}

// What is changed through the files keeps its standing.
func TestChangesAndAcceptance(t *testing.T) {
	d := newDesk(t)
	d.setProject("[permissions]\napprove = ['shell']\n")
	if err := d.apply(theirs(permission.ListApprove, "shell(ls)")); !errors.Is(err, permissions.ErrNotAccepted) || !strings.Contains(err.Error(), "hecate permissions accept") {
		t.Errorf("a grant for a file that is not accepted: %v", err)
	}
	if err := d.apply(theirs(permission.ListApprove, "shell")); !errors.Is(err, permissions.ErrNotAccepted) {
		t.Errorf("a grant that is there and does not count: %v", err)
	}
	if err := d.apply(theirs(permission.ListDeny, "exec(rm)")); err != nil {
		t.Errorf("a deny for a file that is not accepted: %v", err)
	}
	d.want("project permissions.deny exec(rm)")

	before := d.status().Digest
	accepted := d.text(permission.LayerProject)
	if err := d.accept(before); err != nil {
		t.Fatal(err)
	}
	if err := d.apply(theirs(permission.ListApprove, "shell(ls)")); err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.deny exec(rm)", "project permissions.approve shell", "project permissions.approve shell(ls)")
	gone := theirs(permission.ListApprove, "shell")
	gone.Remove = true
	if err := d.apply(gone); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*desk{d, d.restart()} {
		x.want("project permissions.deny exec(rm)", "project permissions.approve shell(ls)")
	}
	d.setProject(accepted) // what was taken out does not come back by itself
	d.want("project permissions.deny exec(rm)")
}

// A refused change leaves no acceptance behind.
func TestAFailedChangeAcceptsNothing(t *testing.T) {
	d := newDesk(t)
	d.setProject("permissions.approve = ['shell']\n#" + strings.Repeat("x", 1<<20-40))
	if err := d.accept(d.status().Digest); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(filepath.Join(d.user, "accepted.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.apply(theirs(permission.ListApprove, "shell(ls)")); !is(err, "permission_file_full") {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(filepath.Join(d.user, "accepted.json")); err != nil || string(now) != string(was) {
		t.Errorf("accepted is %s (%v), was %s", now, err, was)
	}
	d.want("project permissions.approve shell")
}

// Without a readable memory nothing is accepted, and it is not overwritten.
func TestABrokenMemoryAcceptsNothing(t *testing.T) {
	d := newDesk(t)
	d.setProject("permissions.approve = ['shell']\n")
	if err := d.accept(d.status().Digest); err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.approve shell")
	d.write(filepath.Join(d.user, "accepted.json"), "{")
	d.want()
	d.want()
	if n := strings.Count(d.log.String(), "so none is"); n != 1 {
		t.Errorf("it was said %d times: %s", n, d.log.String())
	}
	if err := d.accept(d.status().Digest); !is(err, "permission_accepted_broken") {
		t.Errorf("accepting: %v", err)
	}
	if err := os.Remove(filepath.Join(d.user, "accepted.json")); err != nil {
		t.Fatal(err)
	}
	if err := d.accept(d.status().Digest); err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.approve shell")
}

// The same file by another way is the same file.
func TestAcceptanceGoesWithTheRealPath(t *testing.T) {
	d := newDesk(t)
	d.setProject("permissions.approve = ['shell']\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(d.project, link); err != nil {
		t.Fatal(err)
	}
	if err := d.files.Accept(permissions.Project{Dir: link}, d.status().Digest); err != nil {
		t.Fatal(err)
	}
	d.want("project permissions.approve shell")
}
