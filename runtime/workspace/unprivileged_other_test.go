//go:build unix && !linux

package workspace_test

import (
	"os"
	"testing"
)

// unprivileged makes sure that the permissions of directories stop the test.
func unprivileged(t *testing.T, _ string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Fatal("this test needs an ordinary user")
	}
}
