package run

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
)

// BundleDigest names one response's calls exactly: hex SHA-256 over a version tag,
// the producing run, the call index, the count and, for each call in order, its
// length-prefixed id, tool name and exact argument bytes.
func BundleDigest(runID string, index int64, calls []ToolCall) string {
	h := sha256.New()
	field(h, "hecate.bundle.v1")
	field(h, runID)
	number(h, index)
	number(h, int64(len(calls)))
	for _, c := range calls {
		field(h, c.ID)
		field(h, c.Name)
		field(h, c.Arguments.String())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CallDigest names one call: its tool and exact argument bytes.
func CallDigest(c ToolCall) string {
	h := sha256.New()
	field(h, "hecate.call.v1")
	field(h, c.Name)
	field(h, c.Arguments.String())
	return hex.EncodeToString(h.Sum(nil))
}

// DirectDigest names exactly what a run was created to do: hex SHA-256 over a
// version tag, the run and every member of its spec.
func DirectDigest(runID string, sp Spec) string {
	h := sha256.New()
	for _, s := range []string{
		"hecate.direct.v1", runID, sp.ExecutionKind, sp.Prompt.String(), sp.SystemPrompt.String(), sp.ShellCommand.String(),
		sp.GitCommand.String(), sp.FileOperation, sp.FilePath, sp.FileContent.String(), sp.WorkspaceMode, sp.WorkingDirectory,
		sp.Repo, sp.BaseBranch, sp.AllowedRoot,
	} {
		field(h, s)
	}
	for _, b := range []bool{sp.ReadOnly, sp.Network, sp.ExcludeGuidance} {
		field(h, strconv.FormatBool(b))
	}
	number(h, sp.TimeoutMS)
	return hex.EncodeToString(h.Sum(nil))
}

func field(h hash.Hash, s string) {
	number(h, int64(len(s)))
	h.Write([]byte(s))
}

func number(h hash.Hash, n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}
