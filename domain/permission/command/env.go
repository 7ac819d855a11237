package command

import (
	"slices"
	"strings"
)

// Names of environment variables that choose what code runs, or whose home it has.
// No grant covers a call that sets one of them. No list can be whole, since a program
// may have its own: so names that sound like such a choice count, and values that look
// like a path or a command.
var (
	// harmless are names that only say how much, in which words or for what, although
	// one of the rules below would take them.
	harmless = []string{
		"GOOS", "GOARCH", "GOARM", "GOARM64", "GOAMD64", "GO386", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK",
		"CARGO_TERM_COLOR", "CARGO_TERM_VERBOSE", "CARGO_INCREMENTAL", "CARGO_BUILD_JOBS", "RUST_BACKTRACE", "LANG", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "CI",
	}

	choosingNames = []string{
		"HOME", "PATH", "PATHEXT", "COMSPEC", "IFS", "ENV", "CDPATH", "SHELL", "ZDOTDIR", "PS4", "PROMPT_COMMAND", "SHELLOPTS",
		"USERPROFILE", "APPDATA", "LOCALAPPDATA", "PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "MANOPT",
		"LESS", "LESSKEY", "LESSKEYIN", "VIMINIT", "EXINIT", "MYVIMRC", "INPUTRC", "AWKPATH", "AWKLIBPATH", "TCLLIBPATH", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "CAML_LD_LIBRARY_PATH",
		"CC", "CXX", "CPP", "LD", "AR", "AS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MFLAGS",
		"COMPILER_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CMAKE_PREFIX_PATH", "GRADLE_USER_HOME", "PKG_CONFIG_LIBDIR", "GCC_EXEC_PREFIX", "CMAKE_TOOLCHAIN_FILE", "PKG_CONFIG", "PKG_CONFIG_PATH",
		"GOROOT", "GOPATH", "GOENV", "GOTOOLCHAIN", "GOPROXY", "GONOSUMDB", "GOINSECURE", "GOSUMDB", "GOPRIVATE", "GOBIN", "GOWORK", "GOVCS",
		"RUSTDOC", "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO", "CARGO_HOME", "CARGO_ENCODED_RUSTFLAGS", "CARGO_ENCODED_RUSTDOCFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN",
		"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_HOME", "CLASSPATH",
		"MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "JAVA_OPTS", "SBT_OPTS", "KOTLIN_HOME", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "R_PROFILE", "R_PROFILE_USER", "R_HOME",
		"ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS", "ELIXIR_ERL_OPTIONS", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "BUNDLE_GEMFILE", "GEM_HOME", "GEM_PATH",
		"VIRTUAL_ENV", "PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "HGRCPATH", "RIPGREP_CONFIG_PATH", "TAR_OPTIONS", "WGETRC", "CURL_HOME", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
		"MAKE", "FC", "F77", "GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN", "NLSPATH", "LOCPATH", "RES_OPTIONS", "TZDIR", "TERMINFO", "TERMINFO_DIRS", "GLIBC_TUNABLES", "SSLKEYLOGFILE", "KUBECONFIG",
	}
	choosingPrefixes = []string{
		"LD_", "DYLD_", "BASH_", "PERL", "PYTHON", "RUBY", "GIT_", "RUSTC", "SSH_", "CGO_", "LUA_INIT_", "LUA_PATH", "LUA_CPATH",
		"GO", "CARGO_", "CMAKE_", "CCACHE_", "SCCACHE_", "DISTCC_", "RSYNC_", "PYTEST_", "PIP_", "UV_", "SUDO_", "MAVEN_", "GRADLE_", "NPM_CONFIG_", "YARN_", "PNPM_", "BUN_", "DENO_", "XDG_", "CORECLR_", "COMPLUS_", "GIO_", "GTK_", "QT_", "DOCKER_",
	}
	choosingSuffixes = []string{
		"_PROXY", "_WRAPPER", "_LAUNCHER", "_COMMAND", "_CMD", "PROG", "_PROGRAM", "_EXEC", "_RSH", "_SHELL", "_PREFIX", "OPTS", "_OPTIONS", "_ARGS", "FLAGS",
		"PATH", "_HOME", "_ROOT", "_BIN", "_CONFIG", "_RC", "_EDITOR", "_PAGER", "_ASKPASS", "_PROVIDER", "_HOOK", "_HOOKS", "_PLUGIN", "_PLUGINS",
		"_PRELOAD", "_INIT", "_STARTUP", "_TOOL", "_COMPILER", "_LINKER", "_RUNNER", "_INTERPRETER", "_MODULES", "_REGISTRY",
	}

	// identity are the GIT_ variables that only say who and when.
	identity = []string{
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
	}
	// goPrograms are the flags of GOFLAGS that name programs or sources.
	goPrograms = []string{"toolexec", "exec", "overlay", "modfile", "vettool", "ldflags", "gccgoflags"}
	// commandLike are characters of paths and of what a shell acts on.
	commandLike = "/\\;|&$`<>(){}'\"\n\x00"
)

// Choosing returns the names among env that choose what code runs, sorted. A name
// that is no ordinary variable name counts as one.
func Choosing(env map[string]string) []string {
	var out []string
	for name, value := range env {
		if chooses(strings.ToUpper(name), value) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func chooses(name, value string) bool {
	has := func(list []string, test func(string, string) bool) bool {
		return slices.ContainsFunc(list, func(s string) bool { return test(name, s) })
	}
	switch {
	case !isVariable(name):
		return true
	case name == "TZ", slices.Contains(identity, name):
		return false
	case strings.ContainsAny(value, commandLike):
		return true
	case slices.Contains(harmless, name), strings.HasPrefix(name, "LC_"):
		return false
	case name == "GOFLAGS":
		return slices.ContainsFunc(goPrograms, func(f string) bool { return strings.Contains(value, "-"+f) })
	}
	return slices.Contains(choosingNames, name) || has(choosingPrefixes, strings.HasPrefix) || has(choosingSuffixes, strings.HasSuffix)
}

// isVariable reports whether a shell would take the name for a variable's.
func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
