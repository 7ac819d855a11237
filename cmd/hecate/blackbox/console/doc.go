// Package console tests the web console as a person meets it: in a real browser,
// against the hecate binary with a scripted model. Whatever the browser's console
// complains about, above all violations of the pages' policy, fails the test.
//
// The package has only tests, for Linux. They need Chromium and say so if it is missing.
package console
