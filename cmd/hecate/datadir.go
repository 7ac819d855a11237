package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"hecate/cmd/hecate/internal/operators"
	"hecate/domain/clock"
	"hecate/domain/ident"
)

// Files of the data directory that other programs know.
const (
	hostFile    = "hecate.runtime-host.json" // the stable id of this data directory
	runtimeFile = "hecate.runtime.json"      // where the server is, while it runs
)

// hostID returns the stable id of a data directory and makes it at first use.
func hostID(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	path := filepath.Join(dir, hostFile)
	var host struct {
		ID string `json:"runtime_host_id"`
	}
	raw, err := os.ReadFile(path)
	switch {
	case err == nil && json.Unmarshal(raw, &host) == nil && host.ID != "":
		return host.ID, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the host id: %w", err)
	}
	host.ID = ident.New("runtime")
	return host.ID, writeJSON(path, host)
}

// dataToHide lists the directories with logs and tokens, with which what an agent runs has
// no business: this server's, and that of the server that "hecate run" starts. Links are
// resolved, as those of workspaces are.
func dataToHide(c config) ([]string, error) {
	usual := userDataDir(func(name string) string { return c.environ[name] })
	var out []string
	for _, dir := range []string{c.DataDir, usual} {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		if !slices.Contains(out, abs) {
			out = append(out, abs)
		}
	}
	return out, nil
}

// openOperators returns the list of operators, after making the first one in a list that
// does not exist yet.
func openOperators(c config, log *slog.Logger) (*operators.List, error) {
	name, token := firstOperator(), filepath.Join(c.DataDir, operators.TokenFile)
	made, err := operators.First(c.OperatorsFile, token, name, clock.System{}.Now())
	if err != nil {
		return nil, fmt.Errorf("make the first operator: %w", err)
	}
	if made {
		log.Info("made the first operator", "name", name, "list", c.OperatorsFile, "token_file", token)
	}
	return operators.Open(c.OperatorsFile, log), nil
}

// firstOperator names the first operator after the user who runs the server.
func firstOperator() string {
	if u, err := user.Current(); err == nil && operators.Sane(u.Username) {
		return u.Username
	}
	return "operator"
}

// writeRuntimeFile tells clients of this machine where the server is.
func writeRuntimeFile(dir, baseURL, address string) error {
	return writeJSON(filepath.Join(dir, runtimeFile), map[string]any{
		"base_url": baseURL, "listen_addr": address, "pid": os.Getpid(), "updated_unix": clock.System{}.Now().Unix(),
	})
}

// removeRuntimeFile removes the file if it is this process's.
func removeRuntimeFile(dir string) {
	path := filepath.Join(dir, runtimeFile)
	var f struct {
		PID int `json:"pid"`
	}
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &f) == nil && f.PID == os.Getpid() {
		_ = os.Remove(path) // the next start writes it anew
	}
}

// writeJSON replaces a file of the data directory, all or nothing.
func writeJSON(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp, path)
}

// hostLabel is the machine's name, or the one that the operator chose.
func hostLabel(c config) string {
	if c.HostLabel != "" {
		return c.HostLabel
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// machineID names this machine, the same after a restart: what a machine keeps for
// that purpose and its name, because copies of a machine often share the former.
func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		id = nil // not every system has one
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return ident.Derive("machine", string(id), name)
}
