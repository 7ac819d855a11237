package permissions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"hecate/domain/fault"
	"hecate/domain/permission"
)

// acceptedFile is where it stands which project files the user accepts, relative to
// the directory of the user's own file.
const acceptedFile = "accepted.json"

// accepted is which texts of project files the user accepts, by the file's path. Two
// texts of one file are accepted only while one takes the place of the other.
type accepted struct {
	data   []byte              // as it was last seen
	failed string              // why it could not be read, instead of data
	Digest map[string][]string `json:"files"` // path → hex SHA-256 of texts
}

// accepts reports whether the user accepts the text of a project's file. Other
// processes accept files too, so it is looked up each time. The caller holds mu.
func (f *Files) accepts(path, digest string) bool {
	if !filepath.IsAbs(f.userDir) || digest == "" {
		return false
	}
	file := filepath.Join(f.userDir, acceptedFile)
	data, err := read(file)
	failed := ""
	if err != nil && !missing(err) {
		failed = err.Error()
	}
	if failed != f.accepted.failed || !bytes.Equal(data, f.accepted.data) {
		next, err := readAccepted(data)
		next.data, next.failed = data, failed
		f.accepted = next
		if err != nil {
			failed = err.Error()
		}
		if failed != "" {
			f.log.Warn("it cannot be read which project files are accepted, so none is", "file", file, "error", failed)
		}
	}
	return slices.Contains(f.accepted.Digest[path], digest)
}

func readAccepted(data []byte) (a accepted, err error) {
	if len(data) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return accepted{}, fmt.Errorf("it is no JSON that this program writes (%w); delete it and accept the files again", err)
	}
	return a, nil
}

// remember makes the digests the only texts of a file that the user accepts.
func (f *Files) remember(path string, digests ...string) error {
	if !filepath.IsAbs(f.userDir) {
		return fault.Unprocessable("permission_user_dir", "there is no directory of the user to remember an accepted file in; set HOME or XDG_CONFIG_HOME")
	}
	if !utf8.ValidString(path) {
		return fault.Unprocessable("permission_file_name", "the path of %q is no UTF-8, so the file cannot be accepted", path)
	}
	t, err := f.inUserDir(acceptedFile, true)
	if err != nil {
		return err
	}
	defer t.close()
	return t.rewrite(func(was []byte, _ bool) ([]byte, error) {
		a, err := readAccepted(was)
		if err != nil {
			return nil, fault.Conflict("permission_accepted_broken", "%s: %v", t.path, err)
		}
		next := maps.Clone(a.Digest)
		if next == nil {
			next = map[string][]string{}
		}
		if next[path] = digests; len(digests) == 0 {
			delete(next, path)
		}
		if maps.EqualFunc(next, a.Digest, slices.Equal[[]string]) {
			return was, nil
		}
		out, err := json.MarshalIndent(accepted{Digest: next}, "", "  ")
		return append(out, '\n'), err
	})
}

// Accept remembers that the user accepts the project's file as it is: its grants are
// in force until the file is changed by somebody else. digest is the hex SHA-256 of
// the bytes that the user was shown (Status); if the file has others, that is an error.
func (f *Files) Accept(p Project, digest string) error {
	path := f.ProjectFile(p)
	switch {
	case path == "":
		return fault.Invalid("permission_no_project", "there is no project, so there is no file to accept; name a directory by its absolute path")
	case p.named():
		return nil
	}
	f.editing.Lock()
	defer f.editing.Unlock()
	data, err := read(path)
	switch {
	case missing(err):
		return fault.NotFound("permission_file_missing", "there is no %s to accept", path)
	case err != nil:
		return fault.Conflict("permission_file_broken", "%s cannot be accepted: %v", path, err)
	case sum(data) != digest:
		return fault.Conflict("permission_file_changed", "%s is not what was looked at; look at it again before accepting it", path)
	}
	if read := parse(permission.LayerProject, path, data, ""); !read.ok {
		return fault.Conflict("permission_file_broken", "%s cannot be accepted until it is mended: %s", path, read.problems[0].Message)
	}
	return f.remember(path, digest)
}
