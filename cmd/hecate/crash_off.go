//go:build !crashpoints

package main

import "hecate/runtime/worker"

// instrument does nothing in a binary that is meant for use; see crash_on.go.
func instrument(*worker.Config) {}
