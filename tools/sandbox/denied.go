// Package sandbox says what a command may do before it starts, and wraps it so
// that the operating system holds it to that: static checks of the parsed
// command (Check), and bubblewrap where it is installed (Detect, Wrap).
//
// The static checks catch the plain cases early and explain them; a program that
// hides what it does gets past them. The wrapper is what guarantees.
package sandbox

import "fmt"

// Denied is a refusal by policy: nothing ran.
type Denied struct{ Reason string }

func (d *Denied) Error() string { return "sandbox policy denied: " + d.Reason }

// Escapes is the refusal of a path that leads out of the workspace root.
func Escapes(path, root string) error {
	return &Denied{fmt.Sprintf("path %q escapes allowed root %q", path, root)}
}

// WriteDenied is the refusal of a change in a read-only task.
func WriteDenied() error { return &Denied{"write access is disabled"} }

// NetworkDenied is the refusal of a network command in a task without network.
func NetworkDenied() error { return &Denied{"network access is disabled"} }

// DetachDenied is the refusal of a program whose processes would outlive their terminal.
func DetachDenied(program string) error {
	return &Denied{fmt.Sprintf("%q detaches processes from their terminal; run the command in the foreground of a terminal of its own", program)}
}
