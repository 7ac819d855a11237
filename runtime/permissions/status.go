package permissions

import (
	"slices"

	"hecate/domain/permission"
)

// Status is what the files say and how they stand, for a person to look at.
type Status struct {
	UserFile    string // absolute; "" if there is no place for one
	ProjectFile string // absolute; "" if there is no project
	Named       bool   // a person named the project's file, so nobody needs to accept it

	Exists   bool   // the project's file is there
	Accepted bool   // its grants are in force
	Digest   string // hex SHA-256 of its bytes, for Accept; "" if it cannot be accepted as it is

	Config   permission.Config    // what is in force
	Waiting  []permission.Entry   // grants of the project's file that count once it is accepted
	Shut     []permission.Entry   // grants of files that are shut out, as far as they can be read; they count once the files are mended
	Problems []permission.Problem // of both files
}

// Status returns how the files stand at this moment. Waiting and Digest are of the
// same text, so that a person who accepts the digest has seen what it grants.
func (f *Files) Status(p Project) Status {
	now := f.current(p)
	s := Status{
		UserFile: f.userPath(), ProjectFile: f.ProjectFile(p), Named: p.named(),
		Config: now.config, Problems: now.problems,
	}
	for _, c := range []*content{now.user, now.project} {
		if c != nil && c.shut != nil {
			s.Shut = append(s.Shut, grantsOf(*c.shut, now.config.Entries)...)
		}
	}
	if now.project == nil {
		return s
	}
	s.Exists, s.Accepted, s.Digest = true, now.accepted, now.project.digest
	if !now.accepted && s.Digest != "" {
		s.Waiting = grantsOf(now.project.source, nil)
	}
	return s
}

// grantsOf are the grants of a file, were it accepted, except those that are in force.
func grantsOf(s permission.Source, inForce []permission.Entry) []permission.Entry {
	s.Accepted = true
	config, _ := permission.Load(s)
	return slices.DeleteFunc(config.Entries, func(e permission.Entry) bool {
		return e.List == permission.ListDeny || e.List == permission.ListHostDeny ||
			slices.ContainsFunc(inForce, func(x permission.Entry) bool { return x.ID == e.ID })
	})
}
