package process

import "os"

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
