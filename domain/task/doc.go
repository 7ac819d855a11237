// Package task is what somebody wants done: its definition, its runs by number and
// the rule that at most one of them is open.
package task
