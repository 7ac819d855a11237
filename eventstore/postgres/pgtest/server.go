package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL server of this process, on a unix socket.
type server struct {
	dir   string        // holds everything: data, socket, log
	guard io.Closer     // the server ends when this is closed, or dies with us
	ended chan struct{} // closed when it has ended
}

// guarded runs a program that gets SIGQUIT when standard input ends: when this
// process closes it, or is no more, however it went.
const guarded = `exec 3<&0; (read -r _ <&3; kill -QUIT $$) >/dev/null 2>&1 & exec "$@" 3<&-`

// settings trade durability for speed: the data does not outlive the test. They
// stand in a file and not on the command line so that a benchmark can undo them.
const settings = `
fsync = off
full_page_writes = off
listen_addresses = ''
max_connections = 200
shared_buffers = 64MB
autovacuum = off
log_min_messages = fatal
max_wal_size = 4GB
`

func startServer() (*server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	sweep()
	dir, err := os.MkdirTemp(tempRoot(), fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, ended: make(chan struct{})}
	if err := s.start(bin); err != nil {
		s.stop()
		return nil, fmt.Errorf("start PostgreSQL from %s: %w", bin, err)
	}
	return s, nil
}

func (s *server) start(bin string) error {
	if err := giveAway(s.dir); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	if err := copyTemplate(bin, data); err != nil {
		return err
	}
	if err := appendTo(filepath.Join(data, "postgresql.conf"), settings); err != nil {
		return err
	}
	cmd := command("/bin/sh", "-c", guarded, "sh", filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	guard, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.guard = guard
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	return s.ready(&output)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ready waits until the server answers.
func (s *server) ready(output *bytes.Buffer) error {
	ctx, stop := context.WithTimeout(context.Background(), startMax)
	defer stop()
	for {
		conn, err := pgx.Connect(ctx, s.url().String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended: %s", output)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *server) url() *url.URL {
	q := url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return &url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: q.Encode()}
}

func (s *server) stop() {
	if s.guard != nil {
		_ = s.guard.Close()
		<-s.ended
	}
	_ = os.RemoveAll(s.dir)
}

// findBinaries returns the folder of the newest installed server.
func findBinaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}
