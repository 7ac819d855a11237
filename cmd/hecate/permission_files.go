package main

import (
	v1 "hecate/api/v1"
	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

// permissionFiles shows the API the files that the workers decide by.
type permissionFiles struct{ files *permissions.Files }

func (f permissionFiles) Status(dir string) v1.PermissionStatus {
	return v1.PermissionStatus(f.files.Status(permissions.Project{Dir: dir}))
}

func (f permissionFiles) Accept(dir, digest string) error {
	return f.files.Accept(permissions.Project{Dir: dir}, digest)
}

func (f permissionFiles) Apply(dir string, c permission.Change) (string, error) {
	return f.files.Apply(permissions.Project{Dir: dir}, c)
}
