package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hecate/eventstore/proof/stored"
)

// openLog opens a log for reading. It finds it as the server would, unless it is named.
func (a *app) openLog(ctx context.Context, name string) (*stored.Log, error) {
	conns := 2 + runtime.GOMAXPROCS(0)
	switch {
	case strings.HasPrefix(name, "postgres://"), strings.HasPrefix(name, "postgresql://"):
		return stored.OpenPostgres(ctx, name, a.getenv("HECATE_POSTGRES_TABLE_PREFIX"), conns)
	case name != "":
		return a.openFile(ctx, name, conns)
	}
	c, err := readConfig(a.environ)
	if err != nil {
		return nil, err
	}
	switch c.Backend {
	case "postgres":
		return stored.OpenPostgres(ctx, c.PostgresURL, c.PostgresPrefix, conns)
	case "memory":
		return nil, errors.New("a log in memory can be read by its server alone")
	}
	path := c.SQLitePath
	for _, dir := range a.dataDirs() {
		if a.getenv("HECATE_SQLITE_PATH") != "" {
			break
		}
		if path = filepath.Join(dir, filepath.Base(c.SQLitePath)); exists(path) {
			break
		}
	}
	if !exists(path) {
		return nil, advise(fmt.Errorf("there is no log at %s", path), "name it: a file of SQLite, a data directory, or postgres://…")
	}
	return a.openFile(ctx, path, conns)
}

func (a *app) openFile(ctx context.Context, path string, conns int) (*stored.Log, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advise(fmt.Errorf("there is no file %s", path), "name a log or an export that is there")
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		path = filepath.Join(path, "hecate.db")
	}
	if begins, err := beginOf(path, len(sqliteMagic)); err == nil && begins != "" && begins != sqliteMagic {
		return nil, advise(fmt.Errorf("%s is neither the database of a log nor an export of one", path),
			"name a file of SQLite, a data directory, postgres://…, or a file that hecate audit export has made")
	}
	return stored.OpenSQLite(ctx, path, a.getenv("HECATE_SQLITE_TABLE_PREFIX"), conns)
}

// beginOf reads the first n bytes of a file, or as many as it has.
func beginOf(path string, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return string(raw), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func readFileAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, limit)
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return b.Bytes(), err
}
