package escape_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// everyFileTool calls all tools that take a path with one, and returns what they said.
func (s *scene) everyFileTool(path string) (said string, accepted []string) {
	s.t.Helper()
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"read_file", args{"path": path}},
		{"list_dir", args{"path": path}},
		{"stat", args{"path": path}},
		{"blame", args{"path": path}},
		{"git_diff", args{"path": path}},
		{"grep", args{"pattern": "SESAM", "path": path}},
		{"glob", args{"pattern": "*", "path": path}},
		{"file_write", args{"path": path, "content": "x"}},
		{"file_write", args{"path": path, "content": "x", "operation": "append"}},
		{"file_edit", args{"path": path, "old_text": "as", "new_text": "x"}},
		{"apply_patch", args{"patch_text": "*** Begin Patch\n*** Add File: " + path + "\n+x\n*** End Patch\n"}},
		{"apply_patch", args{"patch_text": "*** Begin Patch\n*** Update File: " + path + "\n@@\n-as it was\n+x\n*** End Patch\n"}},
		{"apply_patch", args{"patch_text": "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n"}},
		{"exec", args{"program": "ls", "working_directory": path}},
		{"terminal_open", args{"command": "ls", "working_directory": path}},
	} {
		r := s.call(c.tool, c.in)
		said += r.Text + "\n"
		if !r.Error {
			accepted = append(accepted, c.tool)
		}
	}
	return said, accepted
}

// Paths that lead out, in all spellings: fc-ws-04 and what goes beyond.
func TestPathsThatLeadOut(t *testing.T) {
	s := newScene(t)
	s.put(filepath.Join(s.outside, "secret"), secret+"\n")
	s.Write("sub/f", "as it was\n")
	s.Link(s.outside, "out")
	s.Link(filepath.Join(s.outside, "secret"), "secret")
	s.Link(filepath.Join(s.outside, "new"), "dangling")
	s.Link("../../../../../../../../../"+s.outside, "sub/up")
	s.Link("out", "l0")
	for i := range 20 {
		s.Link(fmt.Sprintf("l%d", i), fmt.Sprintf("l%d", i+1))
	}
	s.Link("loop", "loop")
	s.Link("/proc/self/root", "proc")
	s.Link("/proc/self/cwd", "cwd")
	if err := os.Symlink(s.Dir, filepath.Join(s.outside, "back")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s.outside, home, s.data)
	up := strings.Repeat("../", 12)
	for _, path := range []string{
		"..", "../", "./..", "sub/../..", "sub/../../" + filepath.Base(filepath.Dir(s.Dir)), up + "etc/passwd", up + s.outside, s.outside, s.outside + "/file", s.outside + "/new", s.outside + "/back/sub/f",
		s.Dir + "/../x", s.Dir + "-not", "//etc/passwd", "/", "out", "out/file", "out/new", "out/back/sub/../../file", "secret", "secret/", "dangling", "sub/up/file", "l20/file", "l20", "loop", "loop/x",
		"proc" + s.outside + "/file", "proc/etc/passwd", "cwd/x/../../..", "a\x00/../../x", "..\x00", `..\..\x`, `C:\x`, `\\host\share`, "~/.ssh/id_ed25519/..", "out/../out/file", strings.Repeat("a/../", 2000) + "../x",
	} {
		said, accepted := s.everyFileTool(path)
		s.kept(before, said+"tried")
		for _, name := range accepted {
			// A link that leads out is looked at itself, and is not followed.
			if name != "stat" && !(path == `..\..\x`) && path != "~/.ssh/id_ed25519/.." {
				t.Errorf("%s takes %q", name, path)
			}
		}
	}
}

// Names that a file system takes for others: letter case, composed and decomposed letters,
// and characters that do not count. Git's own files are not written under any of them.
func TestNamesThatAreTakenForOthers(t *testing.T) {
	s := newScene(t)
	s.Write(".git/config", "[core]\n")
	s.Write("café", "composed\n")
	s.Link(".git", "link")
	before := tree(t, filepath.Join(s.Dir, ".git"))
	for _, path := range []string{".git/config", ".GIT/config", ".Git/hooks/pre-commit", "sub/../.git/hooks/x", "./.git/x", "link/config", "link/hooks/x", s.Dir + "/.git/x", "sub/.giT/config", ".git"} {
		for _, tool := range []string{"file_write", "apply_patch", "file_edit"} {
			in := args{"path": path, "content": "evil", "old_text": "[core]", "new_text": "evil", "patch_text": "*** Begin Patch\n*** Add File: " + path + "\n+evil\n*** End Patch\n"}
			if r := s.call(tool, in); !r.Error {
				t.Errorf("%s %s: %s", tool, path, r.Text)
			}
		}
	}
	// Here these are names like any others; where the system folds them they are the same file.
	for _, path := range []string{"cafe\u0301", ".g\u200cit/config", ".git./config", "git~1/config", ".g\u0131t/config"} {
		s.call("file_write", args{"path": path, "content": "evil"})
	}
	if after := tree(t, filepath.Join(s.Dir, ".git")); after != before {
		t.Errorf("git's own files were changed: %s", after)
	}
	if got := s.Read("café"); got != "composed\n" && got != "evil" {
		t.Errorf("the composed name holds %q", got)
	}
}

// A name of a file that has another one outside: ah-workspace-04. The file outside keeps
// what it holds.
func TestHardLinks(t *testing.T) {
	s := newScene(t)
	outside := filepath.Join(filepath.Dir(s.Dir), "outside") // of the same file system as the workspace
	s.put(outside, "as it was\n")
	for i, c := range []struct {
		tool string
		in   args
	}{
		{"file_edit", args{"old_text": "as", "new_text": "not as"}},
		{"file_write", args{"content": "x"}},
		{"file_write", args{"content": "x", "operation": "append"}},
		{"apply_patch", args{"patch_text": "*** Begin Patch\n*** Update File: PATH\n@@\n-as it was\n+x\n*** End Patch\n"}},
	} {
		name := fmt.Sprint("hard", i)
		if err := os.Link(outside, filepath.Join(s.Dir, name)); err != nil {
			t.Fatal(err)
		}
		c.in["path"] = name
		if text, ok := c.in["patch_text"].(string); ok {
			c.in["patch_text"] = strings.ReplaceAll(text, "PATH", name)
		}
		r := s.call(c.tool, c.in)
		if got, err := os.ReadFile(outside); err != nil || string(got) != "as it was\n" {
			t.Fatalf("%s changed the file outside to %q: %s", c.tool, got, r.Text)
		}
	}
}

// A directory that becomes a link while tools work below it, again and again.
func TestDirectoriesThatAreSwapped(t *testing.T) {
	s := newScene(t)
	s.put(filepath.Join(s.outside, "secret"), secret+"\n")
	s.Write("dir/secret", "plain\n")
	s.Write("dir/file", "as it was\n")
	s.Link(s.outside, "link")
	before := tree(t, s.outside, home, s.data)
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	at := func(name string) string { return filepath.Join(s.Dir, name) }
	swaps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(at("dir"), at("real"))
			_ = os.Rename(at("link"), at("dir"))
			_ = os.Rename(at("dir"), at("link"))
			_ = os.Rename(at("real"), at("dir"))
		}
	})
	var said strings.Builder
	went := map[bool]int{}
	for i := range 60 {
		for _, c := range []struct {
			tool string
			in   args
		}{
			{"read_file", args{"path": "dir/secret"}},
			{"file_write", args{"path": "dir/file", "content": fmt.Sprint(i)}},
			{"file_write", args{"path": "dir/new/deep", "content": "x"}},
			{"grep", args{"pattern": "SESAM", "path": "dir"}},
			{"list_dir", args{"path": "dir"}},
			{"file_edit", args{"path": "dir/file", "old_text": "as", "new_text": "x"}},
		} {
			r := s.call(c.tool, c.in)
			went[r.Error]++
			said.WriteString(r.Text)
		}
	}
	close(stop)
	swaps.Wait()
	s.kept(before, said.String()+"tried")
	if went[true] == 0 || went[false] == 0 {
		t.Logf("the swaps were not in time: %v", went)
	}
}
