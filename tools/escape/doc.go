// Package escape holds the tests that try to get out: of the workspace, of the wrapper that
// confines commands, and of the time and the output that they are given. They run the real
// tools with real processes, a real git and, where it matters, a real wrapper.
//
// Where the wrapper does not work, the tests that need it fail, unless
// HECATE_TEST_WITHOUT_SANDBOX is set: a machine on which nothing was tried must not look
// like one on which nothing got out. docs/sandbox.md has the list of attacks.
package escape
