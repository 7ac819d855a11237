package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// Limits of what is fetched from elsewhere.
const (
	fetchMax       = 30 * time.Second
	checkpointsMax = 64 << 20 // bytes of a file of checkpoints
	keysMax        = 1 << 20  // bytes of a file of keys
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

// keyArguments reads public keys: as they are written, or from files that hold them, one a
// line, or the secret key that belongs to one.
func keyArguments(list []string) (keys []string, err error) {
	for _, text := range list {
		if strings.Count(text, "+") < 2 || !strings.Contains(text, "\n") && exists(text) {
			raw, err := readFileAtMost(text, keysMax)
			if err != nil {
				return nil, fmt.Errorf("read the key: %w", err)
			}
			if text, err = publicKeys(text, string(raw)); err != nil {
				return nil, err
			}
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				keys = append(keys, line)
			}
		}
	}
	if len(list) > 0 && len(keys) == 0 {
		return nil, errors.New("read the key: there is none")
	}
	return keys, nil
}

// publicKeys is what a file holds, with the public key in place of a secret one.
func publicKeys(path, held string) (string, error) {
	secret, ok := strings.CutPrefix(strings.TrimSpace(held), "PRIVATE+KEY+")
	if !ok {
		return held, nil
	}
	origin, _, _ := strings.Cut(secret, "+")
	key, err := proof.ReadKey(path, origin)
	return key.Public, err
}

func readFileAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, limit)
}

// checkpointArguments reads checkpoints that were kept elsewhere, from files and addresses.
func checkpointArguments(ctx context.Context, names []string) (list [][]byte, err error) {
	for _, name := range names {
		raw, err := readOrFetch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read the checkpoint %s: %w", name, err)
		}
		found := proof.Split(raw)
		if len(found) == 0 {
			return nil, fmt.Errorf("read the checkpoint %s: it is empty", name)
		}
		list = append(list, found...)
	}
	return list, nil
}

func readOrFetch(ctx context.Context, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return readFileAtMost(name, checkpointsMax)
	}
	ctx, stop := context.WithTimeout(ctx, fetchMax)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", res.Status)
	}
	raw, err := readAtMost(res.Body, checkpointsMax)
	var answer struct {
		Data struct{ Checkpoint string }
	}
	if err == nil && json.Unmarshal(raw, &answer) == nil && answer.Data.Checkpoint != "" { // as a server of ours says it
		raw = []byte(answer.Data.Checkpoint)
	}
	return raw, err
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return b.Bytes(), err
}
