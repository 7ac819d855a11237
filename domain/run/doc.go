// Package run is one attempt at a task: its events, the state that they fold to
// and the rules of the loop. Next says what must happen now; the runtime does it
// and records what came of it.
package run
