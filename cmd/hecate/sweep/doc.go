// Package sweep kills real server processes at every point where a crash could tell
// apart what happened and what is recorded, lets another process go on, and checks
// that nothing was lost and nothing happened twice. What a point is stands in
// cmd/hecate/crash_on.go, what is promised in docs/reliability.md.
//
// The package has only tests, for Linux. They build one binary with the tag
// crashpoints. A plain run takes all points on SQLite and some on PostgreSQL; with
// the flag -full it takes all points everywhere, and with -v it prints the table of
// points and outcomes:
//
//	go test ./cmd/hecate/sweep -run TestSweep -v -full -timeout 60m
package sweep
