package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/runtime/model/provider"
)

// closeTimeout is how long a server of our own may take to end.
const closeTimeout = 15 * time.Second

// localServer is a server inside this process, for one command.
type localServer struct {
	*client.Client
	node runningNode
	log  *os.File
	lost chan error // the node ended by itself
}

// startLocal starts a server whose environment is ours with settings over it. Its
// log goes to a file in the data directory, so that it does not disturb the screen.
func (a *app) startLocal(ctx context.Context, dataDir string, settings map[string]string) (*localServer, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dataDir, "hecate.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	environ := a.environWith(settings, map[string]string{"HECATE_ADDRESS": "127.0.0.1:0", "HECATE_DATA_DIR": dataDir})
	node, err := a.start(ctx, environ, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start a server: %w", err)
	}
	s := &localServer{node: node, log: log, lost: make(chan error, 1)}
	if s.Client, err = client.New(node.BaseURL(), a.getenv("HECATE_RUNTIME_TOKEN"), nil); err == nil {
		s.Client, err = a.asOwner(s.Client, dataDir)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	go func() { s.lost <- node.Wait() }() // ends with the node, which close waits for
	return s, nil
}

// startForRuns starts a server that executes runs, with the model providers of the
// environment or one that is found on this machine. inPlace is whether a run works in
// the directory itself.
func (a *app) startForRuns(ctx context.Context, dataDir string, inPlace bool) (*localServer, error) {
	settings := map[string]string{}
	configs, err := provider.Parse(a.environ)
	if err != nil {
		return nil, err
	}
	if len(configs) == 0 {
		name, base, models, ok := a.discoverLocal(ctx)
		if !ok {
			return nil, noProvider()
		}
		prefix := "PROVIDER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		settings[prefix+"_PRECONFIGURED"], settings[prefix+"_BASE_URL"] = "true", base
		fmt.Fprintf(a.err, "no provider is configured; using %s at %s (%s)\n", name, base, strings.Join(models, ", "))
	}
	a.setDefault(settings, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS", "200")
	// In a copy every edit is seen before it reaches the original, so edits don't ask.
	policies := "shell_exec,git_exec,network_egress"
	if inPlace {
		policies += ",file_write"
	}
	a.setDefault(settings, "HECATE_TASK_APPROVAL_POLICIES", policies)
	return a.startLocal(ctx, dataDir, settings)
}

// setDefault sets what the environment leaves open. An empty list of policies is a choice, too.
func (a *app) setDefault(settings map[string]string, name, value string) {
	for _, entry := range a.environ {
		if strings.HasPrefix(entry, name+"=") {
			return
		}
	}
	settings[name] = value
}

// environWith returns our environment with each set of settings over what is before it.
func (a *app) environWith(settings ...map[string]string) []string {
	merged := map[string]string{}
	for _, set := range settings {
		for name, value := range set {
			merged[name] = value
		}
	}
	var out []string
	for _, entry := range a.environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := merged[name]; !replaced {
			out = append(out, entry)
		}
	}
	for name, value := range merged {
		out = append(out, name+"="+value)
	}
	return out
}

// close ends the server and waits for it.
func (s *localServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.node.Close(ctx)
	return errors.Join(err, s.log.Close())
}

// busy counts the runs that would be left hanging if the server ended now.
func (s *localServer) busy(ctx context.Context) int {
	n := 0
	for _, status := range []string{"queued", "running"} {
		if tasks, err := s.Tasks(ctx, 0, status); err == nil {
			n += len(tasks)
		}
	}
	return n
}

// whileUsed waits until no run of somebody else uses the server, or for Ctrl-C: another
// hecate run in a second terminal shares a server that it finds.
func (s *localServer) whileUsed(ctx context.Context, a *app) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := false
	for {
		n := s.busy(ctx)
		if n == 0 {
			return nil
		}
		if !told {
			told = true
			fmt.Fprintln(a.err, stillUsed(n))
		}
		select {
		case <-a.interrupt:
			return nil
		case err := <-s.lost:
			return endedByItself(err)
		case <-tick.C:
		}
	}
}

// stillUsed says why the server does not end yet.
func stillUsed(runs int) string {
	if runs == 1 {
		return "one more run uses this server; it ends with it. Ctrl-C ends it now, and the run goes on when a server starts again."
	}
	return fmt.Sprintf("%d more runs use this server; it ends with them. Ctrl-C ends it now, and they go on when a server starts again.", runs)
}

// untilInterrupted keeps the server running for somebody who wants to look around.
func (s *localServer) untilInterrupted(a *app) error {
	fmt.Fprintf(a.err, "the server stays at %s until Ctrl-C\n", s.BaseURL())
	select {
	case <-a.interrupt:
		return nil
	case err := <-s.lost:
		return endedByItself(err)
	}
}

var errServerEnded = errors.New("the server ended by itself, see hecate.log in its data directory")

func endedByItself(err error) error {
	if err == nil {
		return errServerEnded
	}
	return fmt.Errorf("%w: %w", errServerEnded, err)
}
