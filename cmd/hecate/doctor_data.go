package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"hecate/cmd/hecate/internal/operators"
	"hecate/cmd/hecate/internal/show"
)

// data says whether the server finds and protects what it keeps.
func (f *findings) data(ctx context.Context, c config) {
	used := f.directory(c)
	f.operators(c)
	f.database(ctx, c)
	f.workspaces(c)
	f.address(c, used)
}

// directory reports whether a server uses the data directory at the moment.
func (f *findings) directory(c config) (used bool) {
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		dir = c.DataDir
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existing(dir)); err != nil {
			f.add("data", failing, "%s is not there and cannot be made: %v", dir, err)
		} else {
			f.add("data", noted, "%s is not there; the first start makes it", dir)
		}
		return false
	case err != nil:
		f.add("data", failing, "%v", err)
		return false
	case !info.IsDir():
		f.add("data", failing, "%s is no directory", dir)
		return false
	}
	used = inUse(filepath.Join(dir, nodeFile))
	by := ""
	if used {
		by = "; a server uses it"
	}
	switch err := writable(dir); {
	case err != nil:
		f.add("data", failing, "%s: %v", dir, err)
	case info.Mode().Perm()&0o077 != 0:
		f.add("data", wanting, "%s has mode %#o, so others can look into it: chmod 700%s", dir, info.Mode().Perm(), by)
	default:
		f.add("data", healthy, "%s, mode %#o%s", dir, info.Mode().Perm(), by)
	}
	return used
}

// inUse reports whether another process holds the lock on a file.
func inUse(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() // and with it the lock
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// existing is the nearest directory upwards that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s cannot be written: %w", dir, err)
	}
	return nil
}

// operators says whether somebody can decide, and whether others can read the token.
func (f *findings) operators(c config) {
	list, err := operators.Read(c.OperatorsFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // the first start makes it
	case err != nil:
		f.add("operators", failing, "%s cannot be read, so nobody is an operator: %v", c.OperatorsFile, err)
		return
	}
	active := 0
	for _, o := range list {
		if o.Active() {
			active++
		}
	}
	token := filepath.Join(c.DataDir, operators.TokenFile)
	switch info, err := os.Stat(token); {
	case active == 0:
		f.add("operators", wanting, "there is none: hecate operators add NAME")
	case err == nil && info.Mode().Perm()&0o077 != 0:
		f.add("operators", wanting, "%s can be read by others (mode %#o): chmod 600", token, info.Mode().Perm())
	default:
		f.add("operators", healthy, "%s in %s", show.Count(int64(active), "operator"), c.OperatorsFile)
	}
}

// database looks whether the log can be reached, and changes nothing in it.
func (f *findings) database(ctx context.Context, c config) {
	switch c.Backend {
	case "memory":
		f.add("database", noted, "in memory: everything is forgotten at the end")
	case "postgres":
		f.postgres(ctx, c)
	default:
		f.sqlite(c.SQLitePath)
	}
}

func (f *findings) postgres(ctx context.Context, c config) {
	if c.PostgresURL == "" {
		return // the configuration was found wanting
	}
	ctx, stop := context.WithTimeout(ctx, probeMax)
	defer stop()
	conn, err := pgx.Connect(ctx, c.PostgresURL)
	if err != nil {
		f.add("database", failing, "PostgreSQL cannot be reached: %s", firstLineOf(err))
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, name string
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_database()").Scan(&version, &name); err != nil {
		f.add("database", failing, "PostgreSQL does not answer: %s", firstLineOf(err))
		return
	}
	f.add("database", healthy, "%s of PostgreSQL %s", name, version)
}

// firstLineOf is an error on one line; those of the driver never hold the password.
func firstLineOf(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// sqliteMagic begins every database of SQLite.
const sqliteMagic = "SQLite format 3\x00"

func (f *findings) sqlite(path string) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existing(filepath.Dir(path))); err != nil {
			f.add("database", failing, "%s is not there and cannot be made: %v", path, err)
		} else {
			f.add("database", noted, "%s is not there; the first start makes it", path)
		}
		return
	case err != nil:
		f.add("database", failing, "%v", err)
		return
	}
	defer file.Close()
	head := make([]byte, len(sqliteMagic))
	if n, err := io.ReadFull(file, head); n > 0 && (err != nil || !bytes.Equal(head, []byte(sqliteMagic))) {
		f.add("database", failing, "%s is no database of SQLite", path)
		return
	}
	f.add("database", healthy, "%s (SQLite)", path)
}

// workspaces says where copies of what agents work on stand.
func (f *findings) workspaces(c config) {
	if err := writable(c.TempDir); err != nil {
		f.add("workspaces", failing, "%v; see TMPDIR", err)
		return
	}
	f.add("workspaces", healthy, "below %s", c.TempDir)
}

// address says whether the server can listen. used is whether one runs on this data.
func (f *findings) address(c config, used bool) {
	l, err := net.Listen("tcp", c.Address)
	switch {
	case err == nil:
		_ = l.Close()
		f.add("address", healthy, "%s is free", c.Address)
	case errors.Is(err, syscall.EADDRINUSE) && used:
		f.add("address", healthy, "%s is in use, by the server on this data it seems", c.Address)
	case errors.Is(err, syscall.EADDRINUSE):
		f.add("address", wanting, "another program listens at %s: choose another HECATE_ADDRESS, or end it", c.Address)
	default:
		f.add("address", failing, "%s: %v", c.Address, err)
	}
}

// models says which providers are configured, without asking any.
func (f *findings) models(a *app) {
	settings, err := readProviders(a.environ)
	if err != nil {
		f.add("models", failing, "%s", firstLineOf(err))
		return
	}
	var names []string
	for _, s := range settings.set.Status() {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		f.add("models", wanting, "no provider is configured, so tasks that need one fail: docs/operating.md")
		return
	}
	f.add("models", healthy, "%s; `hecate provider check NAME` tries one out", strings.Join(names, ", "))
}
