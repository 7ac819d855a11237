package workspace

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hecate/tools/rootfs"
)

// guidanceMax is how much of a guidance file goes into the prompt, in bytes.
const guidanceMax = 8 << 10

// Guidance returns the text of the workspace's CLAUDE.md, or else AGENTS.md, cut to
// 8 KiB; "" if there is neither. A link counts if it leads to a file in the workspace.
// What denied, which may be nil, holds for is kept back from the prompt, too.
// Source: agent runtime text, "Three-layer system prompt".
func Guidance(root *os.Root, rootPath string, denied func(rel string) bool) string {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md"} {
		at := rootfs.Lead(root, rootPath, name)
		if path.IsAbs(at) || !filepath.IsLocal(at) || denied != nil && (denied(name) || denied(at)) {
			continue
		}
		if text := guidanceIn(root, at); text != "" {
			return text
		}
	}
	return ""
}

func guidanceIn(root *os.Root, rel string) string {
	f, info, err := rootfs.Open(root, rel)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info.IsDir() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, guidanceMax))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(string(b), ""), "\uFEFF"))
}
