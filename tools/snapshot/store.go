package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hecate/tools/process"
)

// gitTimeMax bounds one git command.
const gitTimeMax = 60 * time.Second

// Store is a bare git repository outside of every workspace. Its objects are all loose,
// so that they can be read and written here. One process uses a store at a time; in it,
// all methods may be called at once.
type Store struct {
	dir     string
	using   sync.RWMutex       // held for writing while objects are dropped
	landing sync.Mutex         // one landing at a time
	probe   func(point string) // tests stop a landing with it
}

// Open opens the store in gitDir, which must not lie in a workspace, and makes it with
// mode 0700 if it is missing. It needs git 2.29 or later.
func Open(gitDir string) (*Store, error) {
	dir, err := filepath.Abs(gitDir)
	if err != nil {
		return nil, fmt.Errorf("open snapshot store: %w", err)
	}
	s := &Store{dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		err = create(dir)
		if err != nil {
			return nil, fmt.Errorf("make snapshot store in %s: %w", dir, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("open snapshot store: %w", err)
	}
	for _, sub := range []string{"objects", "seen", "journal", filepath.Join("refs", "snapshots"), filepath.Join("refs", "last")} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("open snapshot store: %w", err)
		}
	}
	return s, nil
}

// create makes an empty repository beside dir and moves it there, so that a store is
// there whole or not at all.
func create(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".snapshots-") // mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := layOut(temp); err != nil {
		return err
	}
	err = os.Rename(temp, dir)
	if _, found := os.Stat(filepath.Join(dir, "HEAD")); err != nil && found == nil {
		return nil // somebody else was first
	}
	return err
}

// config is that of a bare repository. SHA-256: who writes the files could bring two of
// one SHA-1.
const config = "[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"

// layOut writes what makes a directory a bare repository. Git could do it as well, but
// nearly every run makes a store, and starting a program takes longer than all the rest.
func layOut(dir string) error {
	for _, sub := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600))
}

// git runs one git command in the store. Its environment and settings hold nothing of
// the server's, the user's or the machine's.
func (s *Store) git(ctx context.Context, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, gitTimeMax)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"--no-pager", "--literal-pathspecs", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "core.attributesFile=/dev/null", "-c", "core.quotePath=false", "-c", "gc.auto=0", "-c", "safe.directory=*",
	}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(process.Environ(), "GIT_DIR="+s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	var out limited
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("git %s: %w", args[0], ctx.Err())
		}
		return out.b.Bytes(), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out.b.Bytes(), nil
}

// outputMax bounds what one git command may print, in bytes; what is more is dropped.
const outputMax = patchBytesMax + 1

// limited keeps the first outputMax bytes.
type limited struct{ b bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), outputMax-l.b.Len())])
	return len(p), nil
}

// Last returns the last snapshot of a directory that was taken without ignored files;
// "" if there is none.
func (s *Store) Last(root string) (Tree, error) {
	id, err := s.last(keyOf(realPath(root), false))
	if err != nil || id == (oid{}) {
		return "", err
	}
	return Tree(id.String()), nil
}

// last returns the last snapshot of what key names; the zero id if there is none.
func (s *Store) last(key string) (id oid, err error) {
	ref, err := os.ReadFile(filepath.Join(s.dir, "refs", "last", key))
	if errors.Is(err, fs.ErrNotExist) {
		return oid{}, nil
	}
	if err == nil {
		id, err = parseID(strings.TrimSpace(string(ref)))
	}
	if err != nil {
		err = fmt.Errorf("read the last snapshot's name: %w", err)
	}
	return id, err
}

// Keep keeps snapshots from being dropped by Prune. To keep one again changes nothing.
func (s *Store) Keep(ctx context.Context, trees ...Tree) error {
	s.using.RLock()
	defer s.using.RUnlock()
	for _, t := range trees {
		id, err := parseID(string(t))
		if err == nil {
			_, err = s.readTree(id)
		}
		if err == nil {
			err = s.setRef(ctx, filepath.Join("refs", "snapshots", string(t)), id)
		}
		if err != nil {
			return fmt.Errorf("keep snapshot %q: %w", t, err)
		}
	}
	return nil
}

// Release lets Prune drop snapshots that were kept. One that was not is no error.
func (s *Store) Release(trees ...Tree) error {
	for _, t := range trees {
		if _, err := parseID(string(t)); err != nil {
			return fmt.Errorf("release snapshot %q: %w", t, err)
		}
		if err := os.Remove(filepath.Join(s.dir, "refs", "snapshots", string(t))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("release snapshot: %w", err)
		}
	}
	return nil
}

// Prune drops every snapshot that is not kept, except the last one of each directory,
// which makes the next one cheap. It waits for what is under way.
func (s *Store) Prune(ctx context.Context) error {
	s.using.Lock()
	defer s.using.Unlock()
	if _, err := s.git(ctx, "prune", "--expire=now"); err != nil {
		return fmt.Errorf("prune snapshots: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "tmp-*")) // nobody else is at work
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	if err != nil {
		return fmt.Errorf("prune snapshots: %w", err)
	}
	return nil
}

// Forget drops what the store remembers of a directory that is gone: its index, and the
// hold on its last snapshot.
func (s *Store) Forget(root string) error {
	s.using.RLock()
	defer s.using.RUnlock()
	for _, ignored := range []bool{false, true} {
		key := keyOf(realPath(root), ignored)
		for _, name := range []string{filepath.Join("seen", key), filepath.Join("refs", "last", key)} {
			if err := os.Remove(filepath.Join(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forget %s: %w", root, err)
			}
		}
	}
	return nil
}

// setRef points a ref of the store at an object, in one step.
func (s *Store) setRef(ctx context.Context, name string, id oid) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.replace(name, []byte(id.String()+"\n"), true)
}

// replace writes a file of the store in one step; durable, so that it is there whole also
// after a power cut.
func (s *Store) replace(name string, data []byte, durable bool) error {
	f, err := os.CreateTemp(s.dir, "tmp-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if it was moved
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, name))
}

// probing lets a test look in, or stop, at a point of a landing.
func (s *Store) probing(point string) {
	if s.probe != nil {
		s.probe(point)
	}
}
