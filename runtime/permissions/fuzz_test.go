package permissions_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

// Whatever a file holds and whatever an entry says: a change either fails and leaves
// the file, or the file says exactly that much more or less.
func FuzzApply(f *testing.F) {
	for i, s := range []string{
		"[permissions]\ndeny = [\"shell\", { pattern = 'x', reason = \"\"\"y\n\"\"\" }]\n", "permissions.approve = [\n'exec' # x\n, 'shell(a)'\n]", "[[permissions]]\ndeny = []",
		"permissions = { deny = ['shell'], x = { y = 1 } }", "[network]\nallow = [{ host = 'a' },\r\n\t'b', # c\r\n]\r\n", "[a.b]\nc.d = 1\n", "\"permissions\".'deny' = [ # x\n]", "deny = [\"shell",
		"permissions.approve = [{ pattern = 'exec', # x\n reason = 'y', }, ]", "\ufeff# only a comment", "[permissions.x]\n[permissions]", "x = [[{}, []]]\npermissions={}", "x = nan\nd = 1979-05-27T07:32:00Z\n",
		"\"permissions.deny\" = ['shell(a)']\n",
	} {
		f.Add(s, byte(i), "shell(a)", "", i%3 == 2)
		f.Add(s, byte(i+1), "shell(\"\\]]\n'''\x01)", "why\n\"", false)
		f.Add(s, byte(i+2), "b", "", i%2 == 1)
	}
	f.Fuzz(func(t *testing.T, text string, list byte, entry, reason string, remove bool) {
		dir := t.TempDir()
		path := filepath.Join(dir, "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := permission.Change{
			Layer: permission.LayerUser, List: permission.Lists()[int(list)%len(permission.Lists())], Text: entry, Reason: reason, Remove: remove,
		}
		_, err := permissions.New(dir, slog.New(slog.DiscardHandler)).Apply(permissions.Project{}, c)
		after, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err != nil {
			if string(after) != text {
				t.Fatalf("after %v the file is %q, was %q", err, after, text)
			}
			return
		}
		was, wasRest := taken(t, text, c.List)
		now, nowRest := taken(t, string(after), c.List)
		if !reflect.DeepEqual(wasRest, nowRest) {
			t.Fatalf("other keys changed: %v, was %v", nowRest, wasRest)
		}
		there := func(x any) bool { return c.Same(named(x)) }
		switch n := count(was, there); {
		case remove && (count(now, there) != 0 || len(now) != len(was)-n):
			t.Fatalf("the list is %v, was %v", now, was)
		case !remove && n > 0 && string(after) != text:
			t.Fatalf("it was there, and the file became %q", after)
		case !remove && n == 0 && (len(now) != len(was)+1 || !slices.EqualFunc(now[:len(was)], was, equal) || named(now[len(was)]) != entry):
			t.Fatalf("the list is %v, was %v", now, was)
		}
	})
}

// taken is a list of a file, and what else the file says.
func taken(t *testing.T, text, key string) (list []any, rest map[string]any) {
	t.Helper()
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &rest); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	section, name, _ := strings.Cut(key, ".")
	table, ok := rest[section].(map[string]any)
	if !ok {
		return nil, rest
	}
	list, _ = table[name].([]any)
	if delete(table, name); len(table) == 0 {
		delete(rest, section)
	}
	return list, rest
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

func named(x any) string {
	if m, ok := x.(map[string]any); ok {
		if x = m["pattern"]; x == nil {
			x = m["host"]
		}
	}
	s, _ := x.(string)
	return s
}

func count(list []any, is func(any) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}
