//go:build unix

package permissions

import "syscall"

const nonblock = syscall.O_NONBLOCK
