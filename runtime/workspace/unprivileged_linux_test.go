package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// unprivileged gives the rest of the test the rights of an ordinary user, who owns
// the workspace and is stopped by the permissions of directories.
func unprivileged(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	for up := filepath.Dir(dir); err == nil && up != filepath.Clean(os.TempDir()); up = filepath.Dir(up) {
		err = os.Chmod(up, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Only the file rights of this thread change.
	runtime.LockOSThread()
	become := func(uid uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0) }
	become(nobody)
	t.Cleanup(func() {
		become(0)
		runtime.UnlockOSThread()
	})
}
