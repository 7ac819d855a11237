package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables of the server that its commands see. Everything else,
// keys of providers above all, stays out.
var passed = []string{
	"PATH", "SHELL", "HOME", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP",
	"LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_TIME", "TZ", "TERM",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// Environ returns the environment of commands: what is set of a short list.
func Environ() []string {
	var out []string
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// LookPath finds the file of a program as a command in dir would: by its path, or in
// this process's PATH.
func LookPath(dir, name string) (string, error) {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return exec.LookPath(name)
}

// overridden is env with the variables of set in place of those of the same name.
func overridden(env, set []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return slices.ContainsFunc(set, func(s string) bool { return nameOf(s) == nameOf(e) })
	})
	return append(out, set...)
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
