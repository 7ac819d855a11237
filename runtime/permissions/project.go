package permissions

import (
	"os"
	"path/filepath"

	"hecate/domain/permission"
)

// Project says which project file counts. The zero Project has none.
type Project struct {
	Dir  string // the directory that a task works on, or works on a copy of; absolute, else there is no project
	File string // used instead of the project's own file; absolute; accepted, because a person named it
}

// named reports whether a person named the file.
func (p Project) named() bool { return filepath.IsAbs(p.File) }

// ProjectFile is the absolute path of the file that counts for the project, whether it
// exists or not; "" if there is no project. Links are resolved up to the project's
// directory, so that one project has one path.
func (f *Files) ProjectFile(p Project) string {
	if p.named() {
		return filepath.Clean(p.File)
	}
	if !filepath.IsAbs(p.Dir) {
		return ""
	}
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		dir = filepath.Clean(p.Dir)
	}
	return filepath.Join(root(dir), filepath.FromSlash(permission.ProjectFile))
}

// root is the directory whose file counts for dir: dir itself if it has one, else the
// nearest one upwards that is under version control, else dir.
func root(dir string) string {
	if there(filepath.Join(dir, filepath.FromSlash(permission.ProjectFile))) {
		return dir
	}
	for at := dir; ; at = filepath.Dir(at) {
		if there(filepath.Join(at, ".git")) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// there reports whether something has the name. What cannot be looked at counts as
// there: reading it says what is wrong.
func there(path string) bool {
	_, err := os.Lstat(path)
	return !missing(err)
}
