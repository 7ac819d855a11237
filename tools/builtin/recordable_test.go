package builtin

import (
	"strings"
	"testing"

	"hecate/tools/filepatch"
	"hecate/tools/process"
)

// blobMax is the most that the log holds of one text.
const blobMax = 64 << 20

// A server without a cap on output, or with a high one, records what git writes all the same.
func TestWhatGitWritesFitsIntoTheLog(t *testing.T) {
	x := &execution{keep: true}
	block := strings.Repeat("x", 8<<20)
	for range 9 {
		x.gather(process.Stdout, block)
		x.res.Stdout += int64(len(block))
	}
	if n := len(x.kept(process.Stdout)); n > blobMax || n < keptMax {
		t.Errorf("%d bytes are kept of %d", n, x.res.Stdout)
	}
}

// A file of empty lines makes the longest diff: each of its bytes becomes two.
func TestTheLongestDiffFitsIntoTheLog(t *testing.T) {
	const path = 4 * 4096 // escaped
	header := len(filepatch.Patch{Path: "a", After: filepatch.Text("\n")}.Diff()) + 2*path
	if n := 2*2*writeMax + header; n > blobMax {
		t.Errorf("the diff of two files of %d bytes has %d", writeMax, n)
	}
}
