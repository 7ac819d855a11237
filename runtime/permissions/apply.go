package permissions

import (
	"errors"

	"hecate/domain/permission"
)

// ErrNotAccepted says that grants of the project's file are not in force, so that
// another one would not be either.
var ErrNotAccepted = errors.New("the project's permission file is not accepted")

// errNotYet is what a change answers while files cannot be edited.
var errNotYet = errors.New("files cannot be changed here; edit them by hand")

// Apply makes a change in the file that it is about, in place, and returns the path of
// that file. Adding what is there, in any spelling, and taking out what is not change
// nothing and succeed. The file stays as it was if there is an error; a grant for a
// project's file that is not accepted is refused with ErrNotAccepted.
func (f *Files) Apply(p Project, c permission.Change) (file string, err error) {
	return "", errNotYet
}

// Accept remembers that the user accepts the project's file as it is: its grants are
// in force until the file is changed by somebody else. digest is the hex SHA-256 of
// the bytes that the user was shown (Status); if the file has others, that is an error.
func (f *Files) Accept(p Project, digest string) error { return errNotYet }
