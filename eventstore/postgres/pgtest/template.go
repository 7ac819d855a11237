package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirPrefix and the id of a process name the folder of its server.
const dirPrefix = "hecate-pg-"

// tempRoot is short: the path of a unix socket may have about 100 bytes.
func tempRoot() string {
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// command prepares a program of the server. PostgreSQL refuses to run as root.
func command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	// A group of its own: an interrupt at the keyboard is for the tests, which then stop the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: unprivileged(), Setpgid: true}
	return cmd
}

// giveAway makes a folder that root has made the server's.
func giveAway(dir string) error {
	id := unprivileged()
	if id == nil {
		return nil
	}
	return os.Chown(dir, int(id.Uid), int(id.Gid))
}

// copyTemplate fills data with a fresh cluster. Making one takes seconds, so it
// is made once and kept for the next time.
func copyTemplate(bin, data string) error {
	version, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return err
	}
	root := filepath.Join(tempRoot(), fmt.Sprintf("hecate-pgtemplate-%d", os.Getuid()))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	if err := giveAway(root); err != nil {
		return err
	}
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return -1
	}, string(version))
	template := filepath.Join(root, name)
	if _, err := os.Stat(template); err != nil {
		if err := makeTemplate(bin, root, template); err != nil {
			return err
		}
	}
	return run(command("/bin/cp", "-R", template, data))
}

// makeTemplate makes the cluster aside and moves it into place, so that of two
// test binaries that do so at once one wins and nobody sees a half-made one.
func makeTemplate(bin, root, template string) error {
	aside := filepath.Join(root, "new-"+strconv.Itoa(os.Getpid()))
	defer os.RemoveAll(aside)
	err := run(command(filepath.Join(bin, "initdb"), "-D", aside, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--wal-segsize=1", "--no-sync", "--no-instructions"))
	if err != nil {
		return err
	}
	if err := os.Rename(aside, template); err != nil {
		if _, exists := os.Stat(template); exists != nil {
			return err
		}
	}
	return nil
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, out)
	}
	return nil
}

// sweep removes the folders of test binaries that are no more. Their servers
// died with them.
func sweep() {
	dirs, err := filepath.Glob(filepath.Join(tempRoot(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		owner, err := strconv.Atoi(pid)
		if err != nil || syscall.Kill(owner, 0) == nil {
			continue
		}
		_ = os.RemoveAll(dir)
	}
}
