package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/operators"
	"hecate/cmd/hecate/internal/terminal"
)

// serverFlags names the server that a command works with.
type serverFlags struct {
	Server string `env:"HECATE_BASE_URL" placeholder:"URL" help:"Address of the server. Default: the one that runs on this machine."`
}

// operatorTokenEnv names the operator's token for a server whose data directory is
// elsewhere, or somebody else's than that directory's.
const operatorTokenEnv = "HECATE_OPERATOR_TOKEN" //nolint:gosec // the name, not a token

// usualServer is where "hecate serve" listens if nothing else is configured.
const usualServer = "http://127.0.0.1:8765"

// connect returns a client of a server that answers.
func (f serverFlags) connect(ctx context.Context, a *app) (*client.Client, error) {
	c, err := f.find(ctx, a)
	if err == nil && c == nil {
		err = advise(errors.New("no Hecate server is running on this machine"),
			a.lookedAt()+"\nstart one:     hecate serve\nname another:  --server URL, or HECATE_BASE_URL")
	}
	return c, err
}

// find is connect that returns nil if no server was named and none is running.
func (f serverFlags) find(ctx context.Context, a *app) (*client.Client, error) {
	if f.Server != "" {
		c, err := client.New(f.Server, a.getenv("HECATE_RUNTIME_TOKEN"), nil)
		if err != nil {
			return nil, usage(err)
		}
		if _, err := c.Health(ctx); err != nil {
			return nil, advise(fmt.Errorf("reach the server at %s: %w", f.Server, err), "check --server and HECATE_BASE_URL, or start one: hecate serve")
		}
		return a.as(c)
	}
	for _, base := range a.localServers() {
		c, err := client.New(base, a.getenv("HECATE_RUNTIME_TOKEN"), nil)
		if err != nil {
			continue
		}
		if _, err := c.Health(ctx); err == nil {
			return a.as(c)
		}
	}
	return nil, nil
}

// as makes a client ask as an operator: the one whose token is in the environment, else
// the one whose token stands in the server's data directory, if that is on this machine.
// A token that was not named goes to nobody else.
func (a *app) as(c *client.Client) (*client.Client, error) {
	if token := a.getenv(operatorTokenEnv); token != "" {
		return c.As(token), nil
	}
	for _, r := range a.runningServers() {
		// A file that a killed server left names an address that may be somebody else's by now.
		if strings.TrimRight(r.BaseURL, "/") == c.BaseURL() && r.PID > 0 && alive(r.PID) {
			return a.asOwner(c, r.dir)
		}
	}
	return c, nil
}

// asOwner makes a client ask as the operator whose token stands in the data directory.
func (a *app) asOwner(c *client.Client, dir string) (*client.Client, error) {
	token := a.getenv(operatorTokenEnv)
	if token == "" {
		var err error
		if token, err = operators.ReadToken(filepath.Join(dir, operators.TokenFile)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return c.As(token), nil
}

// withServer does something with the server that was named or that runs. Without one
// it starts one inside this process, which ends with what is done; local is then not nil.
func (f serverFlags) withServer(ctx context.Context, a *app, start func(context.Context, *app) (*localServer, error), do func(server *client.Client, local *localServer) error) error {
	server, err := f.find(ctx, a)
	if err != nil {
		return err
	}
	if server != nil {
		return do(server, nil)
	}
	local, err := start(ctx, a)
	if err != nil {
		return err
	}
	err = do(local.Client, local)
	if closeErr := local.close(); closeErr != nil && err == nil {
		err = fmt.Errorf("end the server: %w", closeErr)
	}
	return err
}

// reader is connect for commands that only look: without a server they look into
// the data directory of "hecate run", and go on with nothing that was left open
// there. The returned function ends the looking.
func (f serverFlags) reader(ctx context.Context, a *app) (*client.Client, func(), error) {
	c, err := f.find(ctx, a)
	if err != nil || c != nil {
		return c, func() {}, err
	}
	for _, dir := range a.dataDirs() {
		if _, err := os.Stat(filepath.Join(dir, "hecate.db")); err != nil {
			continue
		}
		local, err := a.startLocal(ctx, dir, map[string]string{"HECATE_TASK_WORKERS_ENABLED": "false"})
		if err != nil {
			return nil, nil, err
		}
		// What was asked for is on the screen by then; a bad end is the log's matter.
		return local.Client, func() { _ = local.close() }, nil
	}
	c, err = f.connect(ctx, a)
	return c, func() {}, err
}

// localServers lists where a server of this machine may be: what data directories
// say, then the usual port.
func (a *app) localServers() []string {
	var out []string
	for _, r := range a.runningServers() {
		out = append(out, r.BaseURL)
	}
	if a.usualServer != "" {
		out = append(out, a.usualServer)
	}
	return out
}

// runningServer is what a server writes into its data directory while it runs.
type runningServer struct {
	BaseURL string `json:"base_url"`
	PID     int    `json:"pid"`

	dir string // the data directory
}

// runningServers reads what the data directories say. It may be left over from a
// server that was killed.
func (a *app) runningServers() []runningServer {
	var out []runningServer
	for _, dir := range a.dataDirs() {
		raw, err := os.ReadFile(filepath.Join(dir, runtimeFile))
		if err != nil {
			continue
		}
		var running runningServer
		// The token goes to whoever is named here, and the file may stand in a
		// directory that somebody else filled: only this machine is believed.
		if json.Unmarshal(raw, &running) == nil && isLoopback(running.BaseURL) {
			running.dir = dir
			out = append(out, running)
		}
	}
	return out
}

// lookedAt says where a server of this machine was looked for.
func (a *app) lookedAt() string {
	var places []string
	for _, dir := range a.dataDirs() {
		places = append(places, filepath.Join(dir, runtimeFile))
	}
	places = append(places, a.localServers()...)
	return "looked at:     " + terminal.Line(strings.Join(places, ", "))
}

// dataDirs lists the data directories to look into, the likeliest first.
func (a *app) dataDirs() []string {
	if dir := a.getenv("HECATE_DATA_DIR"); dir != "" {
		return []string{dir}
	}
	return []string{".data", a.userDataDir()}
}

// userDataDir is where run keeps its log if HECATE_DATA_DIR names no other place.
func (a *app) userDataDir() string { return userDataDir(a.getenv) }

func userDataDir(getenv func(string) string) string {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hecate")
	}
	return filepath.Join(getenv("HOME"), ".local", "share", "hecate")
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
