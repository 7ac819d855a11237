package permissions

import "hecate/domain/permission"

// Status is what the files say and how they stand, for a person to look at.
type Status struct {
	UserFile    string // absolute; "" if there is no place for one
	ProjectFile string // absolute; "" if there is no project

	Exists   bool   // the project's file is there
	Accepted bool   // its grants are in force
	Digest   string // hex SHA-256 of its bytes, for Accept; "" if they cannot be read

	Config   permission.Config    // what is in force
	Waiting  []permission.Entry   // grants of the project's file that count once it is accepted
	Problems []permission.Problem // of both files
}

// Status returns how the files stand at this moment.
func (f *Files) Status(p Project) Status {
	now := f.current(p)
	return Status{ProjectFile: f.ProjectFile(p), Config: now.config, Problems: now.problems}
}
