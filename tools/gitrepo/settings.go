package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kept are the settings of a repository that say how its files and names are to be read.
// All the others can name programs, places and addresses, or make no difference here.
var kept = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.autocrlf", "core.eol",
	"core.trustctime", "core.checkstat", "core.sparsecheckout", "core.sparsecheckoutcone",
	"extensions.objectformat",
}

// plainValue are the values that kept settings have; others are dropped.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9]{0,16}$`)

// unsaid says that a setting stands there without a value, which means true.
const unsaid = "true"

// settings reads the configuration file of the repository, and no other one.
func (r Repo) settings(ctx context.Context) (map[string]string, error) {
	text, err := small(filepath.Join(r.common, "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	dir, err := os.MkdirTemp("", "hecate-git-")
	if err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config") // a copy, which nobody changes while git reads it
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	out, err := runWith(ctx, call{dir: dir, env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}, whole: true}, "config", "--null", "--no-includes", "--file", file, "--list")
	if err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	found := map[string]string{}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if name, value, ok := strings.Cut(string(entry), "\n"); ok {
			found[name] = value
		} else if name != "" {
			found[name] = unsaid
		}
	}
	return found, nil
}

// reading is a configuration with nothing but what is kept of settings. An extension that
// is not known changes how a repository is to be read, so there is none without it.
func reading(settings map[string]string) (string, error) {
	if settings["core.repositoryformatversion"] == "1" {
		for name, value := range settings {
			ext, ok := strings.CutPrefix(name, "extensions.")
			if ok && !slices.Contains([]string{"objectformat", "worktreeconfig", "partialclone", "noop", "preciousobjects", "relativeworktrees"}, ext) {
				return "", fmt.Errorf("the repository uses the extension %s=%.40q, which is not supported", ext, value)
			}
		}
	}
	format := 0 // which all programs understand that read repositories
	if settings["extensions.objectformat"] != "" {
		format = 1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[core]\n\trepositoryFormatVersion = %d\n\tbare = false\n", format)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if value := settings[name]; slices.Contains(kept, name) && plainValue.MatchString(value) {
			section, key, _ := strings.Cut(name, ".")
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, key, value)
		}
	}
	return b.String(), nil
}
