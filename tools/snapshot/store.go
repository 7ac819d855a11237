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

// outputTimeMax is how long the output of a command that has ended may take to be read:
// longer than a busy machine lets its reader wait, and not for ever if somebody holds it open.
const outputTimeMax = 10 * time.Second

// Store is a bare git repository outside of every workspace. Its objects are all loose,
// so that they can be read and written here. All methods may be called at once, also by
// several processes, but for landings and snapshots of one and the same directory.
// Nothing is ever dropped: a store is removed as a whole.
type Store struct {
	dir     string
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
	for _, sub := range []string{"objects", "seen", "journal", filepath.Join("refs", "named"), filepath.Join("refs", "last")} {
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
	cmd.WaitDelay = outputTimeMax
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
	id, err := s.ref("last", keyOf(realPath(root), false))
	if err != nil || id == (oid{}) {
		return "", err
	}
	return Tree(id.String()), nil
}

// ref reads a name of the store; the zero id if there is no such name.
func (s *Store) ref(dir, name string) (id oid, err error) {
	ref, err := os.ReadFile(filepath.Join(s.dir, "refs", dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return oid{}, nil
	}
	if err == nil {
		id, err = parseID(strings.TrimSpace(string(ref)))
	}
	if err != nil {
		err = fmt.Errorf("read a snapshot's name: %w", err)
	}
	return id, err
}

// Name gives a snapshot a name in the store, in one durable step. A name is a file name.
func (s *Store) Name(ctx context.Context, name string, t Tree) error {
	id, err := parseID(string(t))
	if err == nil && !named(name) {
		err = errors.New("this cannot be a name")
	}
	if err == nil {
		err = s.setRef(ctx, filepath.Join("refs", "named", name), id)
	}
	if err != nil {
		return fmt.Errorf("name snapshot %q %q: %w", t, name, err)
	}
	return nil
}

// Named returns the snapshot that has a name; "" if there is none.
func (s *Store) Named(name string) (Tree, error) {
	if !named(name) {
		return "", nil
	}
	id, err := s.ref("named", name)
	if err != nil || id == (oid{}) {
		return "", err
	}
	return Tree(id.String()), nil
}

func named(name string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`) && name != "."
}

// Has reports whether the store holds a snapshot.
func (s *Store) Has(t Tree) bool {
	id, err := parseID(string(t))
	if err == nil {
		_, err = s.readTree(id)
	}
	return err == nil
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
