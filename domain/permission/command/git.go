package command

import (
	"slices"
	"strings"
)

// What git may be asked for without another program being chosen by it: its own
// commands, and settings that name none. A command that is not here can be an alias or
// a program of the PATH.
var (
	gitCommands = strings.Fields(`add am annotate apply archive blame branch bugreport bundle cat-file check-attr check-ignore
		check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree
		config count-objects describe diff diff-files diff-index diff-tree fetch fmt-merge-msg for-each-ref format-patch fsck gc
		get-tar-commit-id grep hash-object help index-pack init init-db interpret-trailers log ls-files ls-remote ls-tree mailinfo
		mailsplit maintenance merge merge-base merge-file merge-index merge-tree mktag mktree multi-pack-index mv name-rev notes
		pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote repack
		replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-index show-ref sparse-checkout stash
		status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info var
		verify-commit verify-pack verify-tag version whatchanged worktree write-tree bisect`)
	gitPlainSettings = []string{
		"user.", "color.", "advice.", "log.", "i18n.", "init.defaultbranch", "core.quotepath", "core.autocrlf", "core.eol", "core.filemode",
		"core.longpaths", "core.ignorecase", "protocol.version", "safe.directory", "status.", "push.default", "pull.", "fetch.prune", "commit.gpgsign", "tag.gpgsign",
	}
)

// git takes in what a git command line has git run: an alias of -c alias.x='!CMD', the
// commands of bisect run, submodule foreach and rebase --exec. Settings and commands
// that can choose a program count as not read.
func (s *search) git(args []string, depth int) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		opt := args[0]
		args = args[1:]
		switch {
		case opt == "-c" && len(args) > 0:
			s.gitSetting(args[0], depth)
			args = args[1:]
		case strings.HasPrefix(opt, "-c"):
			s.gitSetting(opt[2:], depth)
		case strings.HasPrefix(opt, "--config-env"), strings.HasPrefix(opt, "--exec-path="):
			s.whole = false
			if opt == "--config-env" {
				args = args[min(1, len(args)):]
			}
		case slices.Contains([]string{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}, opt):
			args = args[min(1, len(args)):]
		}
	}
	if len(args) == 0 {
		return
	}
	rest := args[1:]
	switch name := args[0]; {
	case strings.Contains(name, Unknown), !slices.Contains(gitCommands, name):
		s.whole = false
	case name == "bisect" && len(rest) > 0 && rest[0] == "run":
		s.program(Program{Argv: rest[1:]}, depth+1)
	case name == "submodule" && slices.Contains(rest, "foreach"):
		words := rest[slices.Index(rest, "foreach")+1:]
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			words = words[1:]
		}
		s.script(strings.Join(words, " "), depth)
	case name == "rebase":
		s.gitExec(rest, depth)
	case slices.ContainsFunc(rest, func(a string) bool {
		return strings.HasPrefix(a, "--upload-pack") || strings.HasPrefix(a, "--receive-pack") || strings.HasPrefix(a, "--exec=") || strings.HasPrefix(a, "ext::") || strings.HasPrefix(a, "-O") && name == "grep" || strings.HasPrefix(a, "--open-files-in-pager")
	}):
		s.whole = false
	}
}

// gitSetting takes in KEY=VALUE of -c.
func (s *search) gitSetting(setting string, depth int) {
	key, value, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	if script, ok := strings.CutPrefix(value, "!"); ok && strings.HasPrefix(key, "alias.") {
		s.script(script, depth)
	}
	if !slices.ContainsFunc(gitPlainSettings, func(p string) bool { return strings.HasPrefix(key, p) }) {
		s.whole = false
	}
}

// gitExec takes in the commands of rebase -x CMD and --exec CMD.
func (s *search) gitExec(args []string, depth int) {
	for i, a := range args {
		text, attached := strings.CutPrefix(a, "--exec=")
		switch {
		case attached:
			s.script(text, depth)
		case (a == "-x" || a == "--exec") && i+1 < len(args):
			s.script(args[i+1], depth)
		case strings.HasPrefix(a, "-x") && len(a) > 2:
			s.script(a[2:], depth)
		}
	}
}
