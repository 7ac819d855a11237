package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
	"hecate/migrations"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Log { return fileLog(filepath.Join(t.TempDir(), "a folder?#%", "log.db")) })
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Log {
		var passed hours
		return storetest.Log{Pass: passed.pass, Open: func(t *testing.T) eventstore.Store {
			s, err := sqlite.OpenMemory(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			s.SetLeaseClock(passed.now)
			return s
		}}
	})
}

// hours is a clock that the test puts forward.
type hours struct{ atomic.Int64 }

func (h *hours) pass(_ *testing.T, d time.Duration) { h.Add(int64(d)) }
func (h *hours) now() time.Time                     { return time.Now().Add(time.Duration(h.Load())) }

func fileLog(path string) storetest.Log {
	var passed hours
	return storetest.Log{
		Durable: true,
		Pass:    passed.pass,
		Open: func(t *testing.T) eventstore.Store {
			t.Helper()
			s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			s.SetLeaseClock(passed.now)
			return s
		},
		Exec: func(t *testing.T, query string) error {
			_, err := behind(t, path).Exec(query)
			return err
		},
		Forge: func(t *testing.T, query string) {
			t.Helper()
			for _, table := range []string{"log", "payload", "blobs", "commands"} {
				query = "DROP TRIGGER IF EXISTS hecate_" + table + "_no_update; DROP TRIGGER IF EXISTS hecate_" + table + "_no_delete; " + query
			}
			if _, err := behind(t, path).Exec(query); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func openAt(path string) (eventstore.Store, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path})
}

// behind opens the file as any other tool would.
func behind(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestCrash(t *testing.T) {
	storetest.Crash(t, filepath.Join(t.TempDir(), "log.db"), openAt)
}

// The folder and the files are the owner's alone.
func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log.db")
	s, err := openAt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]fs.FileMode{"": 0o700, "log.db": 0o600, "log.db-wal": 0o600, "log.db-shm": 0o600, "log.db.lock": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want %v", name, info.Mode().Perm(), err, want)
		}
	}
}

const holdEnv = "HECATE_SQLITE_TEST_HOLD"

// A second process on the same file is refused by name, and let in when the
// first one is gone, however it went.
func TestSecondProcess(t *testing.T) {
	if path := os.Getenv(holdEnv); path != "" {
		_, err := openAt(path)
		if err == nil {
			os.Stdout.WriteString("held\n")
			select {}
		}
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondProcess$")
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link} {
		_, err = openAt(p)
		if !errors.Is(err, eventstore.ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("open %s: %v, want ErrInUse and process %d", p, err, cmd.Process.Pid)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s, err := openAt(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(path); !errors.Is(err, eventstore.ErrInUse) {
		t.Errorf("open twice in one process: %v, want ErrInUse", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := openAt(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := behind(t, path).Exec("INSERT INTO hecate_schema VALUES ('log', 999, 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := openAt(path); !errors.Is(err, migrations.ErrNewer) {
		t.Errorf("open: %v, want ErrNewer", err)
	}
}

// Two logs with different prefixes live in one file, though not at one time.
func TestTablePrefix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	var ids []string
	for _, prefix := range []string{"one", "two", "one"} {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, TablePrefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.LogID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		if _, err := s.Append(t.Context(), storetest.To("run-"+strconv.Itoa(len(ids)), 0, storetest.NewEvents(1)...)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] == ids[1] || ids[0] != ids[2] {
		t.Errorf("log ids %v", ids)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, TablePrefix: "x; DROP"}); err == nil {
		t.Error("a bad prefix was taken")
	}
}

func TestPoison(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := openAt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = behind(t, path).Exec(`CREATE TRIGGER poison BEFORE INSERT ON hecate_log WHEN NEW.stream = 'poison' BEGIN SELECT raise(ABORT, 'poison'); END`)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Poisoned(t, s)
}

// A foreign tool holds the file locked. A group of appends fails as one: each half of
// it would only wait for the lock once more.
func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tool, err := behind(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
	if _, err := tool.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_, err = s.Append(t.Context(), storetest.To("run-"+strconv.Itoa(i), 0, storetest.NewEvents(1)...))
		if !errors.Is(err, groupcommit.ErrNoRetry) {
			t.Errorf("append: %v, want ErrNoRetry", err)
		}
	}
	if _, err := tool.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), storetest.To("run-1", 0, storetest.NewEvents(1)...)); err != nil {
		t.Errorf("append after all: %v", err)
	}
}

func TestDiskFull(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := func(pages int64) func(*testing.T) {
		return func(t *testing.T) {
			if err := s.LimitRoom(t.Context(), pages); err != nil {
				t.Fatal(err)
			}
		}
	}
	storetest.DiskFull(t, s, limit(200), limit(0))
}
