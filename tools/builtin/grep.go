package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"unicode/utf8"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/rootfs"
)

const (
	grepFileMax = 1 << 20 // bytes of a file that is searched
	grepLineMax = 4 << 10 // bytes of a line that is shown
)

// grep shows the model the lines that match a regular expression.
var grep = tools.New(tools.Spec[grepIn]{
	Name:    "grep",
	Summary: "Search the text files of the workspace for lines that match a regular expression (RE2 syntax).",
	Input: func(in grepIn) map[string]any {
		return map[string]any{"pattern": in.Pattern, "path": in.Path, "include": in.Include, "case_sensitive": in.caseSensitive()}
	},
	Line: func(in grepIn) (string, bool) {
		return fmt.Sprintf("grep pattern=%s path=%s", tools.Quoted(in.Pattern), tools.ShownName(in.Path)), true
	},
	Facts:  func(at tools.Place, in grepIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runGrep,
})

type grepIn struct {
	Pattern       string `json:"pattern" jsonschema:"regular expression, matched line by line; at most 4096 bytes"`
	Path          string `json:"path,omitempty" default:"." jsonschema:"file or directory to search, relative to the workspace"`
	Include       string `json:"include,omitempty" jsonschema:"glob that a file's path or name must match"`
	CaseSensitive *bool  `json:"case_sensitive,omitempty" default:"true" jsonschema:"whether letter case counts"`
	MaxMatches    int    `json:"max_matches,omitempty" default:"100" minimum:"1" maximum:"500" jsonschema:"how many lines to show at most"`
}

func (in grepIn) caseSensitive() bool { return in.CaseSensitive == nil || *in.CaseSensitive }

func runGrep(ctx context.Context, env *tools.Env, in grepIn) tools.Result {
	re, err := compileLine(in)
	if err != nil {
		return refused(env, "invalid regex: %v", err)
	}
	var include globMatcher
	if in.Include != "" {
		if include, err = compileGlob(in.Include); err != nil {
			return refused(env, "invalid include pattern")
		}
	}
	start, info, err := startOf(env, in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	s := newSearch(in.Pattern, in.MaxMatches)
	dir := start
	if !info.IsDir() {
		dir = "."
	}
	s.walk(ctx, env, start, func(name string, d fs.DirEntry) bool {
		if d.IsDir() {
			return true
		}
		if include != nil && !s.worked(len(name)) {
			return false
		}
		if include != nil && !globs(include, dir, name) {
			return true
		}
		return s.grepFile(ctx, env, re, name, d)
	})
	return s.end(ctx, env, true)
}

func compileLine(in grepIn) (*regexp.Regexp, error) {
	switch {
	case in.Pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(in.Pattern) > patternMax:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", patternMax)
	case !in.caseSensitive():
		return regexp.Compile("(?i)" + in.Pattern)
	}
	return regexp.Compile(in.Pattern)
}

// grepFile searches one file and reports whether the search may go on.
func (s *search) grepFile(ctx context.Context, env *tools.Env, re *regexp.Regexp, name string, d fs.DirEntry) bool {
	if !d.Type().IsRegular() {
		s.skipped["non_regular"]++
		return true
	}
	if env.Denied != nil && env.Denied(name) {
		s.skipped[skipDenied]++
		return true
	}
	text, reason := readText(env, name)
	if reason != "" {
		s.skipped[reason]++
		return true
	}
	var last bool // the budget ends in this file: what is left of it is whole lines
	if room := scannedMax - s.bytes; int64(len(text)) > room {
		text, last = text[:bytes.LastIndexByte(text[:room], '\n')+1], true
	}
	s.bytes += int64(len(text))
	if !s.worked(len(text)) {
		return false
	}
	shown := tools.ShownName(name)
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if n%1024 == 0 && ctx.Err() != nil {
			return s.stop(limitCancelled)
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if re.Match(line) && !s.match(fmt.Sprintf("%s:%d:%s", shown, n, cutLine(line))) {
			return false
		}
	}
	if last {
		return s.stop(limitBytes)
	}
	return true
}

func cutLine(line []byte) string {
	if len(line) <= grepLineMax {
		return string(line)
	}
	return tools.Cut(string(line), grepLineMax) + truncatedMark
}

// readText reads a file to search, or says why it is left out.
func readText(env *tools.Env, name string) (text []byte, reason string) {
	f, info, err := rootfs.Open(env.Root, name)
	switch {
	case errors.Is(err, rootfs.NotRegular):
		return nil, "non_regular"
	case err != nil:
		return nil, "open_error"
	}
	defer f.Close()
	if info.Size() > grepFileMax {
		return nil, "large_file"
	}
	text = make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, text)
	switch {
	case err == nil || int64(n) < info.Size():
		return nil, "changed" // longer or shorter than it just was
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, "read_error"
	}
	text = bytes.TrimPrefix(text[:n], bom)
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return nil, "binary"
	case !utf8.Valid(text):
		return nil, "invalid_utf8"
	}
	return text, ""
}
