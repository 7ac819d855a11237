//go:build !unix

package permissions

const nonblock = 0
