// Package migrations holds the database schemas and brings a database up to date.
//
// A set is a numbered series of SQL files that belong together: the log is one,
// each read model may bring its own. What was applied is recorded per set in
// hecate_schema, in the same transaction as the change itself. Files are only
// ever added: an applied file never changes.
//
// All table names begin with "hecate_". Another prefix is put in their place when
// the SQL is used, see Rename.
package migrations

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Prefix is what table names begin with unless told otherwise, without the underscore.
const Prefix = "hecate"

// ErrNewer is wrapped by the error about a database that a newer build has changed.
var ErrNewer = errors.New("the schema is newer than this build")

// Set is a numbered series of SQL files, named like 0001_log.sql.
type Set struct {
	Name  string
	Files fs.FS // the files at its root
}

// SQLiteLog is the schema of the log in SQLite.
func SQLiteLog() Set { return Set{Name: "log", Files: sub("sqlite")} }

// PostgresLog is the schema of the log in PostgreSQL.
func PostgresLog() Set { return Set{Name: "log", Files: sub("postgres")} }

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return f
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// CheckPrefix returns an error if prefix cannot begin a table name.
func CheckPrefix(prefix string) error {
	if !prefixPattern.MatchString(prefix) {
		return fmt.Errorf("table prefix %q must be 1 to 31 lower-case letters, digits and underscores, a letter first", prefix)
	}
	return nil
}

// Rename puts another prefix in the place of "hecate_". An empty prefix changes nothing.
func Rename(sql, prefix string) string {
	if prefix == "" || prefix == Prefix {
		return sql
	}
	return strings.ReplaceAll(sql, Prefix+"_", prefix+"_")
}

// step is one file of a set.
type step struct {
	version int64
	sql     string
}

// steps reads the files of the set in order of their numbers.
func (s Set) steps(prefix string) ([]step, error) {
	names, err := fs.Glob(s.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	var out []step
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version < 1 {
			return nil, fmt.Errorf("read schema %s: %s does not begin with a number", s.Name, name)
		}
		sql, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return nil, err
		}
		out = append(out, step{version, Rename(string(sql), prefix)})
	}
	slices.SortFunc(out, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	return out, nil
}

// missing returns the steps above the applied version.
func missing(set Set, steps []step, applied int64) ([]step, error) {
	known := int64(0)
	if len(steps) > 0 {
		known = steps[len(steps)-1].version
	}
	if applied > known {
		return nil, fmt.Errorf("%w: %s is at %d, this build knows %d; run a newer build", ErrNewer, set.Name, applied, known)
	}
	return slices.DeleteFunc(steps, func(s step) bool { return s.version <= applied }), nil
}
