package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hecate/cmd/hecate/internal/terminal"
)

// The project of the demo: a package with a bug that its test finds.
const (
	demoModule = `module example.com/stats

go 1.21
`
	demoCode = `// Package stats sums up series of measurements.
package stats

import "sort"

// Median returns the value in the middle of the sorted series. With an even number
// of values it is the mean of the two in the middle.
func Median(values []float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}
`
	demoBug = `	return sorted[len(sorted)/2]
`
	demoFix = `	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
`
	demoCases = `2.5},
	} {
`
	demoMoreCases = `2.5},
		{[]float64{1, 2}, 1.5},
	} {
`
	demoTest = `package stats

import "testing"

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}
`
)

// makeProject writes the project, commits it and shows that its test fails.
func (d *demo) makeProject(ctx context.Context) (string, error) {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", advise(fmt.Errorf("the demo needs %s, which is not in PATH", tool), "install Go (https://go.dev/dl) and git, and try again")
		}
	}
	dir := filepath.Join(d.dir, "stats")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the demo's project: %w", err)
	}
	for name, content := range map[string]string{"go.mod": demoModule, "median.go": demoCode, "median_test.go": demoTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return "", fmt.Errorf("make the demo's project: %w", err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Hecate demo", "-c", "user.email=demo@example.com", "commit", "-q", "-m", "Add the median"},
	} {
		if _, err := d.git(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	d.section("the project")
	fmt.Fprintln(d.out, d.style.Dim("  "+dir))
	return dir, d.showFailure(ctx, dir)
}

// showFailure runs the test as anybody would. It also compiles what the agent's own
// test run needs, which takes a while the first time.
func (d *demo) showFailure(ctx context.Context, dir string) error {
	fmt.Fprintln(d.out, "  "+d.style.Bold("$ go test ./..."))
	d.out.Status("… compiling, which takes a while the first time")
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Dir, cmd.Env = dir, d.environ
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(strings.ReplaceAll(terminal.Output(line), "\t", "    "), "\n")
		fmt.Fprintln(d.out, "  "+d.style.Dim("│ "+line))
	}
	var exited *exec.ExitError
	switch {
	case err == nil:
		return errors.New("the demo's test passes before anybody repaired it; that is a mistake in the demo")
	case !errors.As(err, &exited):
		return fmt.Errorf("run go test: %w", err)
	}
	fmt.Fprintf(d.out, "  %s exited with status %d\n", d.style.Red("✗"), exited.ExitCode())
	return nil
}

// git runs git on the demo's own repository, without the user's settings.
func (d *demo) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(append([]string(nil), d.environ...), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// testCommand is what the scripted model runs. A command of an agent runs in a
// login shell, whose profile may set a PATH without go.
func (d *demo) testCommand(ctx context.Context) string {
	const command = "go test ./..."
	probe := exec.CommandContext(ctx, "sh", "-lc", "command -v go")
	probe.Env = d.environ
	if probe.Run() == nil {
		return command
	}
	path, err := exec.LookPath("go")
	if err != nil { // looked for before
		return command
	}
	return "PATH=$PATH:" + filepath.Dir(path) + " " + command
}
