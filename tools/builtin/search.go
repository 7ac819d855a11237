package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"hecate/tools"
	"hecate/tools/rootfs"
)

// Limits of grep and glob.
const (
	patternMax      = 4096     // bytes of a pattern
	entriesMax      = 100_000  // directory entries looked at
	scannedMax      = 64 << 20 // bytes of file content read
	patternWorkMax  = 64 << 20 // see search.work
	searchOutputMax = 64 << 10 // bytes of the result text, with its header
	entriesBatch    = 1024     // directory entries read at a time
)

// skippedDirs are not descended into: they hold what nobody wrote by hand.
var skippedDirs = []string{".git", "node_modules", ".gocache", "dist", "build"}

// Why a search ended before it was through.
const (
	limitMatches   = "match_limit"
	limitBytes     = "byte_limit"
	limitEntries   = "entry_limit"
	limitWork      = "pattern_work_limit"
	limitCancelled = "cancelled"
)

// skipDenied is why a file is left out that a deny entry keeps back.
const skipDenied = "denied"

// search is one grep or glob on its way: what it found, what it cost, what it left out.
type search struct {
	pattern    string
	matchesMax int
	found      []string // result lines
	entries    int
	bytes      int64
	work       int64  // bytes matched, weighted by the length of the pattern
	limit      string // the limit that ended it, or ""
	skipped    map[string]int
}

func newSearch(pattern string, matchesMax int) *search {
	return &search{pattern: pattern, matchesMax: matchesMax, skipped: map[string]int{}}
}

// match adds a result line and reports whether the search may go on.
func (s *search) match(line string) bool {
	if len(s.found) == s.matchesMax {
		return s.stop(limitMatches)
	}
	s.found = append(s.found, line)
	return true
}

func (s *search) stop(limit string) bool {
	s.limit = limit
	return false
}

// worked counts the matching of n bytes and reports whether the search may go on.
func (s *search) worked(n int) bool {
	s.work += int64(n) * int64(1+len(s.pattern)/256)
	return s.work <= patternWorkMax || s.stop(limitWork)
}

// walk visits what lies below start, in order of name and without following links,
// until visit returns false. Of a directory with more entries than may be looked at, it is
// not certain which those are.
func (s *search) walk(ctx context.Context, env *tools.Env, start string, visit func(name string, d fs.DirEntry) bool) {
	info, err := env.Root.Lstat(start)
	switch {
	case err != nil:
		s.skipped["open_error"]++
	case !info.IsDir():
		s.see(ctx, env, start, fs.FileInfoToDirEntry(info), visit)
	default:
		s.walkDir(ctx, env, start, visit)
	}
}

// walkDir visits what is in a directory and reports whether the search may go on.
func (s *search) walkDir(ctx context.Context, env *tools.Env, dir string, visit func(name string, d fs.DirEntry) bool) bool {
	entries, err := s.entriesOf(ctx, env, dir)
	if err != nil {
		s.skipped["open_error"]++
	}
	for _, e := range entries {
		if !s.see(ctx, env, path.Join(dir, e.Name()), e, visit) {
			return false
		}
	}
	return true
}

// see visits one entry and, if it is a directory, what is in it.
func (s *search) see(ctx context.Context, env *tools.Env, name string, d fs.DirEntry, visit func(name string, d fs.DirEntry) bool) bool {
	switch {
	case ctx.Err() != nil:
		return s.stop(limitCancelled)
	case s.entries == entriesMax:
		return s.stop(limitEntries)
	}
	s.entries++
	if d.IsDir() && slices.Contains(skippedDirs, d.Name()) {
		return true
	}
	return visit(name, d) && (!d.IsDir() || s.walkDir(ctx, env, name, visit))
}

// entriesOf reads a directory, piece by piece and no further than the search can go. It
// reads nothing that took its place meanwhile, such as a link.
func (s *search) entriesOf(ctx context.Context, env *tools.Env, dir string) ([]fs.DirEntry, error) {
	before, err := env.Root.Lstat(dir)
	if err != nil {
		return nil, err
	}
	f, info, err := rootfs.Open(env.Root, dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !os.SameFile(before, info) {
		return nil, fs.ErrInvalid
	}
	return readEntries(ctx, f, entriesMax-s.entries)
}

// result writes the header and as many lines as fit.
func (s *search) result(withBytes bool) (text string, input map[string]any) {
	var body strings.Builder
	rendered, room := 0, searchOutputMax-len(s.header(len(s.found), withBytes))
	for _, line := range s.found {
		if body.Len()+len(line)+1 > room {
			break
		}
		body.WriteString("\n" + line)
		rendered++
	}
	skipped, reasons := s.reasons()
	input = map[string]any{
		"matches": len(s.found), "rendered_matches": rendered, "max_matches": s.matchesMax, "scanned_entries": s.entries,
		"pattern_work": s.work, "scan_limit": s.limit, "output_truncated": rendered < len(s.found), "truncated": s.limit != "",
		"incomplete": skipped > 0, "skipped_files": skipped, "skip_reasons": reasons,
	}
	if withBytes {
		input["scanned_bytes"] = s.bytes
	}
	return s.header(rendered, withBytes) + body.String(), input
}

// header says what was looked for, found and left out, in a line.
func (s *search) header(rendered int, withBytes bool) string {
	var h strings.Builder
	fmt.Fprintf(&h, "pattern=%s matches=%d rendered_matches=%d scanned_entries=%d", tools.Quoted(s.pattern), len(s.found), rendered, s.entries)
	if withBytes {
		fmt.Fprintf(&h, " scanned_bytes=%d", s.bytes)
	}
	fmt.Fprintf(&h, " pattern_work=%d", s.work)
	if s.limit != "" {
		fmt.Fprintf(&h, " truncated=true scan_limit=%s", s.limit)
	}
	fmt.Fprintf(&h, " output_truncated=%t", rendered < len(s.found))
	if skipped, reasons := s.reasons(); skipped > 0 {
		fmt.Fprintf(&h, " incomplete=true skipped_files=%d skip_reasons=%s", skipped, reasons)
	}
	return h.String()
}

func (s *search) reasons() (total int, list string) {
	var parts []string
	for reason, n := range s.skipped {
		parts = append(parts, fmt.Sprintf("%s:%d", reason, n))
		total += n
	}
	sort.Strings(parts)
	return total, strings.Join(parts, ",")
}

// end makes the tool's result of the search.
func (s *search) end(ctx context.Context, env *tools.Env, withBytes bool) tools.Result {
	if s.limit == limitCancelled {
		return tools.Cancelled(ctx, env.ToolName)
	}
	text, input := s.result(withBytes)
	r := done(env.ToolName, text)
	r.Input = input
	return r
}

// startOf checks where a search begins.
func startOf(env *tools.Env, name string) (string, fs.FileInfo, error) {
	rel, err := readable(env, name)
	if err != nil {
		return "", nil, err
	}
	info, err := env.Root.Lstat(rel)
	if err != nil {
		return "", nil, fmt.Errorf("%q: %s", name, rootfs.Cause(err))
	}
	return rel, info, nil
}

// relativeTo is name without the directory dir in front.
func relativeTo(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
}

// globs reports whether name, below dir, matches: by its path from the workspace
// root, by its path from dir, or by its last element.
func globs(m globMatcher, dir, name string) bool {
	return m.MatchString(name) || m.MatchString(path.Base(name)) || dir != "." && m.MatchString(relativeTo(dir, name))
}
