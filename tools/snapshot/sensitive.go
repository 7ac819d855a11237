package snapshot

import (
	"path"
	"strings"
)

// Classes of sensitive paths.
const (
	Permissions = "permissions" // what agents may do
	Hooks       = "hooks"       // programs that git runs
	CI          = "ci"          // programs that a build service runs, often with secrets
	MCP         = "mcp"         // configuration of agents and their servers
	Editor      = "editor"      // tasks and settings that an editor or a container runs
	Packages    = "packages"    // settings with which a package manager runs programs
	Shell       = "shell"       // files that a shell runs by itself
	LeadsOut    = "leads-out"   // a symbolic link out of the directory, or into .git; only Land can tell
)

// sensitiveDirs are directories of which every file counts. Names are in lower case.
var sensitiveDirs = map[string]string{
	".hecate": Permissions,
	".husky":  Hooks, ".githooks": Hooks, ".git-hooks": Hooks, ".lefthook": Hooks, "git-hooks": Hooks, "githooks": Hooks,
	".circleci": CI, ".buildkite": CI, ".woodpecker": CI, ".github/workflows": CI, ".github/actions": CI,
	".gitea/workflows": CI, ".forgejo/workflows": CI,
	".claude": MCP, ".codex": MCP, ".gemini": MCP,
	".devcontainer": Editor, ".idea": Editor,
}

// sensitiveFiles are single files, by name or by directory and name.
var sensitiveFiles = map[string]string{
	".pre-commit-config.yaml": Hooks, ".pre-commit-config.yml": Hooks, "lefthook.yml": Hooks, "lefthook.yaml": Hooks,
	".lefthook.yml": Hooks, ".lefthook.yaml": Hooks,
	".gitlab-ci.yml": CI, ".gitlab-ci.yaml": CI, ".travis.yml": CI, "azure-pipelines.yml": CI, "azure-pipelines.yaml": CI, "jenkinsfile": CI,
	".drone.yml": CI, ".woodpecker.yml": CI, ".woodpecker.yaml": CI, "bitbucket-pipelines.yml": CI, "appveyor.yml": CI, ".appveyor.yml": CI,
	".mcp.json": MCP, "mcp.json": MCP, ".cursor/mcp.json": MCP, ".cursor/hooks.json": MCP, ".vscode/mcp.json": MCP,
	".vscode/tasks.json": Editor, ".vscode/settings.json": Editor, ".vscode/launch.json": Editor, ".devcontainer.json": Editor,
	".zed/tasks.json": Editor, ".zed/settings.json": Editor, ".yarnrc.yml": Packages, ".yarnrc": Packages, ".npmrc": Packages, ".pnpmfile.cjs": Packages,
	".envrc": Shell, ".bashrc": Shell, ".bash_profile": Shell, ".bash_login": Shell, ".bash_logout": Shell, ".profile": Shell,
	".zshrc": Shell, ".zshenv": Shell, ".zprofile": Shell, ".zlogin": Shell, ".zlogout": Shell,
}

// Sensitive classifies a path whose change can make others run programs or change what
// agents may do: it returns its class, or "". Such files are to be shown apart and need
// a yes of their own (Plan.Sensitive). Case does not count, because it does not for some
// file systems, and nor does the depth, because a part of a project is opened like one.
func Sensitive(name string) string {
	parts := strings.Split(strings.ToLower(path.Clean(name)), "/")
	for i, part := range parts {
		below := i < len(parts)-1
		for _, at := range []string{part, strings.Join(parts[max(0, i-1):i+1], "/")} {
			// The directory itself counts too: a link in its place brings its own files.
			if class := sensitiveDirs[at]; class != "" {
				return class
			}
			if class := sensitiveFiles[at]; class != "" && !below {
				return class
			}
		}
	}
	if strings.HasSuffix(parts[len(parts)-1], ".code-workspace") {
		return Editor
	}
	return ""
}

// isGit reports whether a file system somewhere takes name for .git: whatever the case,
// with the dots and blanks at the end that Windows drops, by its short name there, or with
// characters in it that HFS+ does not see.
func isGit(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":") // an alternate stream of NTFS
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return name == ".git" || name == "git~1"
}
