package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"

	"hecate/domain/permission/command"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
)

// Bounds of what is read of the files that a call runs.
const (
	scriptsMax = 8
	scriptMax  = 16 << 20 // bytes
)

// startsPrograms are the tools whose calls can name a script, by canonical name.
var startsPrograms = []string{"exec", "shell", "background"}

// scripts are the files of the workspace that a call runs as they are when it starts.
func (a *attempt) scripts(c run.ToolCall, p prepared) []run.FileDigest {
	if p.err != nil || a.root == nil || !slices.Contains(startsPrograms, pattern.Canonical(c.Name)) {
		return nil
	}
	f := a.facts(p, a.place())
	argvs := [][]string{f.Argv}
	for _, x := range f.Programs {
		argvs = append(argvs, x.Argv)
	}
	var out []run.FileDigest
	seen := map[string]bool{}
	for _, argv := range argvs {
		name, ok := command.File(argv)
		if ok && !seen[name] && len(out) < scriptsMax {
			seen[name] = true
			out = append(out, run.FileDigest{Path: name, SHA256: fileDigest(a.root, name)})
		}
	}
	return out
}

// fileDigest is the hex SHA-256 of a file below root; "" if it cannot be read.
func fileDigest(root *os.Root, name string) string {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, scriptMax)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
