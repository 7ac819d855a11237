package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Snapshots is the directory that holds the snapshots of a task's workspaces. It stands
// beside the isolated ones and goes with them.
func (m *Manager) Snapshots(taskID string) (string, error) {
	dir := filepath.Join(m.base, taskID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make room for snapshots: %w", err)
	}
	return filepath.Join(dir, ".snapshots"), nil
}
