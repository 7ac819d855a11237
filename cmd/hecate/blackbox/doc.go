// Package blackbox tests the hecate binary from outside, as its clients and its
// operators meet it: real server processes with their own data, a scripted model
// behind a real provider's protocol, and a small HTTP and SSE client that shares
// no code with the product. What the tests expect comes from the specification.
//
// The package has only tests, for Linux: they look processes up in /proc. TestMain
// builds the binary once.
package blackbox
