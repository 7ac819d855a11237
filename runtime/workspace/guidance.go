package workspace

import (
	"io"
	"os"
	"strings"
)

// guidanceMax is how much of a guidance file goes into the prompt, in bytes.
const guidanceMax = 8 << 10

// Guidance returns the text of the workspace's CLAUDE.md, or else AGENTS.md, cut to
// 8 KiB; "" if there is neither. Links that lead outside are not followed.
func Guidance(root *os.Root) string {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md"} {
		f, err := root.Open(name)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(f, guidanceMax))
		f.Close()
		if text := strings.TrimSpace(strings.ToValidUTF8(string(b), "")); err == nil && text != "" {
			return text
		}
	}
	return ""
}
