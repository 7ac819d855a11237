package sandbox

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// veil says of one path whether a wrapped command finds what is there. Of several that
// concern a file the last one counts.
type veil struct {
	path  string // absolute, links followed
	shown bool   // as it is; else it looks empty, or cannot be read
	dir   bool
}

// What a command sees of a home folder beside what does not begin with a dot: how shells
// and git are set up, and what build tools have installed there. Whatever else begins with
// a dot is hidden, because it may be a credential of a program that nobody has thought of.
var (
	homeShown = []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".inputrc", ".editorconfig",
		".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes",
		".asdf", ".bun", ".bundle", ".cabal", ".cache", ".cargo", ".composer", ".conda", ".coursier", ".deno", ".dotnet", ".elan", ".fnm", ".gem", ".ghcup", ".go", ".gradle",
		".hex", ".ivy2", ".jenv", ".julia", ".juliaup", ".local", ".m2", ".mise", ".mix", ".nix-profile", ".nodenv", ".npm", ".nuget", ".nvm", ".opam", ".pnpm-store", ".pub-cache",
		".pyenv", ".rbenv", ".rustup", ".rvm", ".rye", ".sbt", ".sdkman", ".stack", ".swiftpm", ".volta", ".yarn",
	}
	// homeMixed are directories of many programs: hidden but for what is named.
	homeMixed = map[string][]string{
		".config":      {"git", "go", "pip", "mise"},
		".local/share": {"fnm", "go", "jdks", "mise", "pipx", "pnpm", "rtx", "uv", "virtualenvs"},
		".local/state": {"mise"},
		"Library":      {"Caches/go-build", "Developer"},
	}
	// homeKeys are the credentials and browsers' files in what is shown.
	homeKeys = []string{
		".bundle/config", ".cache/chromium", ".cache/google-chrome", ".cache/mozilla", ".cargo/credentials", ".cargo/credentials.toml", ".composer/auth.json",
		".gem/credentials", ".gradle/gradle.properties", ".hex/hex.config", ".m2/settings-security.xml", ".m2/settings.xml", ".nuget/NuGet/NuGet.Config", ".sbt/.credentials",
	}
	// rootKeys are files that only root can read, as long as the server does not run as root.
	rootKeys = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/kubernetes", "/etc/krb5.keytab"}
)

// private lists what wrapped commands do not find in the home folders of the server's user
// and, if that is root, in the system's.
func private() []veil {
	var out []veil
	for _, home := range homes() {
		out = append(out, veilHome(home)...)
	}
	if os.Geteuid() == 0 {
		keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key")
		out = append(out, present(false, append(keys, rootKeys...)...)...)
	}
	return out
}

// homes are the home folders of the server's user, by its environment and by the system.
func homes() []string {
	var out []string
	add := func(dir string) {
		if dir = real(dir); filepath.IsAbs(dir) && dir != "/" && isDir(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	add(os.Getenv("HOME"))
	if u, err := user.Current(); err == nil {
		add(u.HomeDir)
	}
	return out
}

func veilHome(home string) []veil {
	in := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(home, n))
		}
		return paths
	}
	var out []veil
	entries, _ := os.ReadDir(home) // one that cannot be read shows commands nothing either
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !slices.Contains(homeShown, e.Name()) && homeMixed[e.Name()] == nil {
			out = append(out, present(false, in(e.Name())...)...)
		}
	}
	for _, dir := range []string{".config", ".local/share", ".local/state", "Library"} {
		out = append(out, present(false, in(dir)...)...)
		for _, name := range homeMixed[dir] {
			out = append(out, present(true, in(dir+"/"+name)...)...)
		}
	}
	// Programs that the user has in the PATH are there to be started.
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir = real(dir); dir != home && below(home, dir) {
			out = append(out, present(true, installation(home, dir))...)
		}
	}
	return append(out, present(false, in(homeKeys...)...)...)
}

// installation is what a directory of programs is part of: that of bin with what lies beside.
func installation(home, dir string) string {
	if parent := filepath.Dir(dir); slices.Contains([]string{"bin", "shims"}, filepath.Base(dir)) && parent != home {
		return parent
	}
	return dir
}

// present makes veils of those of the paths that are there.
func present(shown bool, paths ...string) []veil {
	var out []veil
	for _, p := range paths {
		p = real(p)
		if info, err := os.Stat(p); err == nil {
			out = append(out, veil{p, shown, info.IsDir()})
		}
	}
	return out
}
