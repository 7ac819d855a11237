package escape_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git sets a scene up, without settings of anybody.
func (s *scene) git(dir string, words ...string) {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"}, words...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %v: %v\n%s", words, err, out)
	}
}

// repository makes one with a commit, and a change of each kind.
func (s *scene) repository(dir string) {
	s.t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	s.put(at("a.txt"), "one\n")
	s.put(at("b.txt"), "two\n")
	s.git(dir, "init", "-q", "-b", "main")
	s.git(dir, "add", ".")
	s.git(dir, "commit", "-qm", "c")
	s.put(at("a.txt"), "changed\n")
	s.put(at("new.txt"), "new\n")
}

// look has the server look at the repository of the workspace in every way it can.
func (s *scene) look() string {
	s.t.Helper()
	said := ""
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"git_status", args{}}, {"git_diff", args{}}, {"git_diff", args{"staged": true}}, {"git_diff", args{"path": "a.txt"}}, {"blame", args{"path": "a.txt"}},
	} {
		said += c.tool + ": " + s.call(c.tool, c.in).Text + "\n"
	}
	return said
}

// What a repository brings along is not run when the server looks at it, and leads it to no
// other files: the configuration is the attacker's.
func TestHostileRepositories(t *testing.T) {
	evil := func(s *scene) string { return "sh -c 'echo pwned >>" + s.outside + "/pwned' evil" }
	config := func(s *scene, keys ...string) {
		for _, k := range keys {
			name, value, given := strings.Cut(k, "=")
			if !given {
				value = evil(s)
			}
			s.git(s.Dir, "config", name, value)
		}
	}
	hooks := func(s *scene, dir string) {
		for _, name := range []string{"post-index-change", "fsmonitor-watchman", "query-watchman", "pre-commit", "post-checkout", "reference-transaction", "pre-auto-gc"} {
			s.put(filepath.Join(dir, name), "#!/bin/sh\n"+evil(s)+"\n")
			if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	// another is a repository outside, whose contents are nobody's business.
	another := func(s *scene) string {
		dir := filepath.Join(s.outside, "other")
		s.put(filepath.Join(dir, "a.txt"), secret+"\n")
		s.git(dir, "init", "-q", "-b", "other")
		s.git(dir, "add", ".")
		s.git(dir, "commit", "-qm", secret)
		s.put(filepath.Join(dir, "a.txt"), "changed\n")
		return dir
	}
	inner := func(s *scene, path, text string) { s.put(filepath.Join(s.Dir, path), text) }
	for name, prepare := range map[string]func(s *scene){
		"hooks":             func(s *scene) { hooks(s, filepath.Join(s.Dir, ".git/hooks")) },
		"a path of hooks":   func(s *scene) { hooks(s, filepath.Join(s.Dir, "h")); config(s, "core.hooksPath=h") },
		"a monitor":         func(s *scene) { config(s, "core.fsmonitor", "core.untrackedCache=true") },
		"a monitor as hook": func(s *scene) { hooks(s, filepath.Join(s.Dir, "h")); config(s, "core.fsmonitor=h/fsmonitor-watchman") },
		"programs": func(s *scene) {
			config(s, "core.pager", "core.editor", "core.sshCommand", "core.askPass", "gpg.program", "credential.helper", "interactive.diffFilter", "sequence.editor")
		},
		"pagers of commands": func(s *scene) { config(s, "pager.status", "pager.diff", "pager.blame") },
		"aliases":            func(s *scene) { config(s, "alias.status=!"+evil(s), "alias.diff=!"+evil(s), "alias.blame=!"+evil(s)) },
		"an external diff":   func(s *scene) { config(s, "diff.external") },
		"diff drivers": func(s *scene) {
			config(s, "diff.evil.command", "diff.evil.textconv", "diff.evil.xfuncname=x", "merge.evil.driver")
			inner(s, ".gitattributes", "* diff=evil merge=evil\n")
			inner(s, ".git/info/attributes", "* diff=evil\n")
		},
		"filters": func(s *scene) {
			inner(s, ".gitattributes", "* filter=evil\n")
			config(s, "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.evil.required=true")
		},
		"an include": func(s *scene) {
			inner(s, "inc", "[core]\n\tfsmonitor = "+evil(s)+"\n[diff]\n\texternal = "+evil(s)+"\n")
			config(s, "include.path=../inc")
		},
		"a conditional include": func(s *scene) {
			inner(s, "inc", "[filter \"evil\"]\n\tclean = "+evil(s)+"\n[core]\n\tfsmonitor = "+evil(s)+"\n")
			inner(s, ".gitattributes", "* filter=evil\n")
			config(s, "includeIf.onbranch:main.path=../inc", "includeIf.gitdir:/**.path=../inc")
		},
		"a worktree's configuration": func(s *scene) {
			config(s, "extensions.worktreeConfig=true")
			inner(s, ".git/config.worktree", "[core]\n\tfsmonitor = "+evil(s)+"\n[diff]\n\texternal = "+evil(s)+"\n")
		},
		"a submodule": func(s *scene) {
			sub := filepath.Join(s.Dir, "sub")
			s.repository(sub)
			s.git(s.Dir, "add", "-A")
			inner(s, ".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n")
			for _, key := range []string{"core.fsmonitor", "diff.external", "filter.evil.clean", "diff.evil.textconv"} {
				s.git(sub, "config", key, evil(s))
			}
			inner(s, "sub/.gitattributes", "* filter=evil diff=evil\n")
			inner(s, "sub/b.txt", "changed\n")
			config(s, "diff.submodule=diff", "status.submoduleSummary=true", "submodule.recurse=true", "diff.ignoreSubmodules=none")
		},
		"another repository's directory": func(s *scene) {
			dir := another(s)
			s.moveGit()
			inner(s, ".git", "gitdir: "+dir+"/.git\n")
		},
		"another one by a link": func(s *scene) {
			dir := another(s)
			s.moveGit()
			s.Link(dir+"/.git", ".git")
		},
		"another common directory": func(s *scene) {
			dir := another(s)
			inner(s, ".git/commondir", dir+"/.git\n")
			inner(s, ".git/HEAD", "ref: refs/heads/other\n")
		},
		"another work tree": func(s *scene) { config(s, "core.worktree="+another(s)) },
		"files by links": func(s *scene) {
			dir := another(s)
			for from, to := range map[string]string{".git/HEAD": dir + "/.git/HEAD", ".git/index": dir + "/.git/index", ".gitattributes": dir + "/a.txt", ".gitignore": dir + "/a.txt", ".git/info/exclude": dir + "/a.txt"} {
				if err := os.Remove(filepath.Join(s.Dir, from)); err != nil && !os.IsNotExist(err) {
					s.t.Fatal(err)
				}
				s.Link(to, from)
			}
		},
		"settings that name files": func(s *scene) {
			f := another(s) + "/a.txt"
			config(s, "core.attributesFile="+f, "core.excludesFile="+f, "blame.ignoreRevsFile="+f, "include.path="+f, "diff.orderFile="+f, "commit.template="+f, "mailmap.file="+f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.repository(s.Dir)
			prepare(s)
			before := tree(t, s.outside, home)
			said := s.look()
			if after := tree(t, s.outside, home); after != before {
				t.Errorf("something outside was changed: %s\n%s", strings.ReplaceAll(after, before, ""), said)
			}
			if strings.Contains(said, secret) {
				t.Errorf("another repository shows: %s", said)
			}
		})
	}
}

// moveGit takes the repository's own directory out of the way.
func (s *scene) moveGit() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.Dir, ".git")); err != nil {
		s.t.Fatal(err)
	}
}

// The server's environment does not say what git does: ah-git-04.
func TestGitInAHostileEnvironment(t *testing.T) {
	s := newScene(t)
	s.repository(s.Dir)
	evil := "sh -c 'echo pwned >>" + s.outside + "/pwned' evil"
	for name, value := range map[string]string{
		"GIT_EXTERNAL_DIFF": evil, "GIT_SSH_COMMAND": evil, "GIT_PAGER": evil, "PAGER": evil, "GIT_EDITOR": evil, "GIT_ASKPASS": evil, "GIT_PROXY_COMMAND": evil, "GIT_CONFIG_COUNT": "1",
		"GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": evil, "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='" + evil + "'", "GIT_DIR": "/nowhere", "GIT_WORK_TREE": s.outside, "GIT_INDEX_FILE": "/nowhere",
		"GIT_TRACE": s.outside + "/trace", "GIT_TRACE2_EVENT": s.outside + "/trace2", "GIT_TEMPLATE_DIR": s.outside, "GIT_OBJECT_DIRECTORY": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	before := tree(t, s.outside)
	said := s.look() + s.call("exec", args{"program": "git", "args": []string{"status"}}).Text + s.call("git_exec", args{"command": "diff"}).Text
	if after := tree(t, s.outside); after != before {
		t.Errorf("something outside was changed: %s", after)
	}
	if strings.Count(said, "a.txt") < 4 || strings.Contains(said, "nowhere") {
		t.Errorf("git has looked elsewhere: %s", said)
	}
}

// What git runs for a command is held as the command is.
func TestHooksOfCommands(t *testing.T) {
	s := confined(t)
	s.repository(s.Dir)
	hook := "#!/bin/sh\n" + s.variables() + "echo x >\"$OUT/new\"; cat \"$HOME/.ssh/id_ed25519\" \"$DATA/operator.token\"; echo tried\n"
	s.put(filepath.Join(s.Dir, ".git/hooks/pre-commit"), hook)
	if err := os.Chmod(filepath.Join(s.Dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s.outside, home, s.data)
	s.kept(before, s.call("git_exec", args{"command": "-c user.name=t -c user.email=t commit -am c"}).Text)
	s.git(s.Dir, "config", "core.fsmonitor", fmt.Sprintf("%s/.git/hooks/pre-commit >&2", s.Dir))
	s.kept(before, s.call("git_exec", args{"command": "status"}).Text)
}
