package client_test

import (
	"testing"

	"hecate/cmd/hecate/internal/client"
)

func TestTaskName(t *testing.T) {
	for want, task := range map[string]client.Task{
		"go test ./...": {Title: "New task", ShellCommand: "go test ./..."},
		"git log -1":    {Title: "New task", GitCommand: "log -1"},
		"append a.txt":  {Title: "New task", FileOperation: "append", FilePath: "a.txt"},
		"New task":      {Title: "New task"},
		"Mine":          {Title: "Mine", ShellCommand: "make"},
	} {
		if got := task.Name(); got != want {
			t.Errorf("%+v is called %q, want %q", task, got, want)
		}
	}
}
