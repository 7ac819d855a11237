// Package permissions reads and edits the permission files of this machine: the user's
// ($XDG_CONFIG_HOME/hecate/config.toml) and the project's (.hecate/config.toml of the
// project that a task works on, or works on a copy of). What they say is looked up
// before every decision, so that an edit counts for runs that are under way.
//
// A file that is broken does not open anything: what it said before stays in force,
// and so does every deny entry of it that can still be read. A project file comes with
// the project, from whoever wrote that; until the user accepts it as it is, it can only
// make less possible.
package permissions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"hecate/domain/permission"
)

// sizeMax is the largest file that is read, in bytes.
const sizeMax = 1 << 20

// userFile is the user's file, relative to its directory.
const userFile = "config.toml"

// Files is what the permission files say. It is safe for concurrent use, and several
// processes may have the same files.
type Files struct {
	userDir string
	log     *slog.Logger

	editing sync.Mutex // held while a file is changed

	mu       sync.Mutex
	files    map[string]*file // by path; only those that exist
	ready    map[string]ready // by path of the project's file
	accepted accepted
}

// readyMax is how many projects' configurations are kept put together.
const readyMax = 256

// ready is a configuration that was put together, and what from.
type ready struct {
	user, project *content
	accepted      bool // the project's file
	config        permission.Config
	problems      []permission.Problem
}

// New makes the files of a user whose own one is in userDir; "" for none. Problems
// with files go to log, once for each state of a file.
func New(userDir string, log *slog.Logger) *Files {
	return &Files{userDir: userDir, log: log, files: map[string]*file{}, ready: map[string]ready{}}
}

// For returns what the files say at this moment.
func (f *Files) For(p Project) permission.Config { return f.current(p).config }

// ProblemsOf returns what is wrong with the files at this moment, and what to do about it.
func (f *Files) ProblemsOf(p Project) []permission.Problem { return f.current(p).problems }

// UserFile is the absolute path of the user's own file, whether it exists or not; "" if
// there is no place for one.
func (f *Files) UserFile() string { return f.userPath() }

// userPath is the user's own file; "" if there is no place for one.
func (f *Files) userPath() string {
	if !filepath.IsAbs(f.userDir) {
		return ""
	}
	return filepath.Join(f.userDir, userFile)
}

func (f *Files) current(p Project) ready {
	project := f.ProjectFile(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	var now ready
	if path := f.userPath(); path != "" {
		now.user = f.look(permission.LayerUser, path)
	}
	if project != "" {
		now.project = f.look(permission.LayerProject, project)
	}
	if now.user == nil && now.project == nil {
		delete(f.ready, project)
		return now
	}
	now.accepted = now.project != nil && (p.named() || f.accepts(project, now.project.digest))
	if r, ok := f.ready[project]; ok && r.user == now.user && r.project == now.project && r.accepted == now.accepted {
		return r
	}
	now.load()
	f.warn(f.userPath(), now.user, true)
	f.warn(project, now.project, now.accepted)
	if len(f.ready) >= readyMax {
		clear(f.ready)
	}
	f.ready[project] = now
	return now
}

// load puts the configuration together.
func (r *ready) load() {
	var sources []permission.Source
	if r.user != nil {
		sources = append(sources, r.user.as(true))
		r.problems = append(r.problems, r.user.problems...)
	}
	if r.project != nil {
		sources = append(sources, r.project.as(r.accepted))
		r.problems = append(r.problems, r.project.problems...)
	}
	var problems []permission.Problem
	r.config, problems = permission.Load(sources...)
	r.problems = append(r.problems, problems...)
}

// file is one file as it was last seen.
type file struct {
	data   []byte
	fault  string // why it could not be read, instead of data
	now    *content
	good   *content // the last one without a fault that shuts it out; nil if there was none
	warned string   // what was last said about it
}

// content is what one file has in force. It does not change.
type content struct {
	source   permission.Source
	problems []permission.Problem
	digest   string             // hex SHA-256 of the text; "" if the file is shut out, so that nobody has accepted it
	shut     *permission.Source // what can be read of a file that is shut out, to be looked at
}

// as is what a file says that is accepted, or is not.
func (c *content) as(accepted bool) permission.Source {
	s := c.source
	s.Accepted = accepted
	return s
}

// look reads a file if it is not as it was. nil: there is none. The whole text is
// compared, because two edits within one tick of the file system's clock look alike.
func (f *Files) look(layer permission.Layer, path string) *content {
	data, err := read(path)
	if missing(err) {
		delete(f.files, path)
		return nil
	}
	fault := ""
	if err != nil {
		data, fault = nil, err.Error()
	}
	was := f.files[path]
	if was != nil && was.fault == fault && bytes.Equal(was.data, data) {
		return was.now
	}
	next := &file{data: data, fault: fault}
	if was != nil {
		next.good = was.good
	}
	next.take(parse(layer, path, data, fault))
	f.files[path] = next
	return next.now
}

// take puts a reading into force. Of one that is shut out the deny entries are added
// to what was good before.
func (x *file) take(p parsed) {
	x.now = &content{source: p.source, problems: p.problems}
	if p.ok {
		x.now.digest = sum(x.data)
		x.good = x.now
		return
	}
	x.now.shut = &p.source
	x.now.source = permission.Source{Layer: p.source.Layer, Accepted: p.source.Accepted}
	if x.good != nil {
		x.now.source = x.good.source
	}
	x.now.source.Deny = join(x.now.source.Deny, p.source.Deny)
	x.now.source.HostDeny = join(x.now.source.HostDeny, p.source.HostDeny)
}

// join adds entries that are not there yet.
func join(to, more []permission.Text) []permission.Text {
	out := append([]permission.Text(nil), to...)
	seen := map[string]bool{}
	for _, t := range to {
		seen[t.Text] = true
	}
	for _, t := range more {
		if !seen[t.Text] {
			seen[t.Text] = true
			out = append(out, t)
		}
	}
	return out
}

// warn says what is wrong with a file, if that was not said of it as it is.
func (f *Files) warn(path string, c *content, accepted bool) {
	if c == nil {
		return
	}
	_, problems := permission.Load(c.as(accepted))
	problems = append(append([]permission.Problem(nil), c.problems...), problems...)
	said := fmt.Sprint(c.digest, problems)
	x := f.files[path]
	if x.warned == said {
		return
	}
	x.warned = said
	for _, p := range problems {
		f.log.Warn("a permission file has a problem", "file", path, "problem", p.String())
	}
}

// sum is the hex SHA-256 of a text.
func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// missing reports whether there is no such file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// read returns the text of a regular file that is not too large.
func read(path string) ([]byte, error) {
	// Opening a pipe must not wait for somebody to write to it.
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, _, err := readOpen(f)
	return data, err
}

func readOpen(f *os.File) ([]byte, fs.FileMode, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is not a regular file; put a text file there")
	}
	data, err := io.ReadAll(io.LimitReader(f, sizeMax+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(data) > sizeMax:
		return nil, 0, fmt.Errorf("it has more than %d bytes; make it smaller", sizeMax)
	}
	return data, info.Mode().Perm(), nil
}
