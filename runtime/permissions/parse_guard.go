package permissions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"hecate/domain/permission"
)

// lock is one lock under way. A lock with a mistake is left out by itself, because
// what it would hold back is not known.
type lock struct {
	permission.LockText
	line int
	bad  bool
}

func (r *reader) beginLock(line int) {
	r.lock = &lock{LockText: permission.LockText{At: r.at(line)}, line: line}
}

func (r *reader) endLock() {
	if r.lock != nil && !r.lock.bad {
		r.source.Locks = append(r.source.Locks, r.lock.LockText)
	}
	r.lock = nil
}

// lockList reads locks = [{ name = "…", patterns = […] }].
func (r *reader) lockList(line int, value *unstable.Node) {
	if value.Kind != unstable.Array {
		r.report("locks", line, "it is not a list; write [[locks]] on a line of its own, and name and patterns below it")
		return
	}
	for it := value.Children(); it.Next(); {
		x := it.Node()
		if x.Kind != unstable.InlineTable {
			r.report("locks", max(line, r.line(x)), `a lock is not a table; write { name = "…", patterns = ["…"] }`)
			continue
		}
		r.beginLock(max(line, r.line(x)))
		for kv := x.Children(); kv.Next(); {
			r.lockKey(kv.Node())
		}
		r.endLock()
	}
}

func (r *reader) lockKey(x *unstable.Node) {
	key, value, line := nameOf(keyOf(x)), x.Value(), max(r.lock.line, r.line(x))
	wrong := func(message string) {
		r.lock.bad = true
		r.report("locks", line, message+"; this lock is left out")
	}
	switch {
	case key == "name" && value.Kind == unstable.String:
		r.lock.Name = string(value.Data)
	case key == "name":
		wrong("the name of a lock is not a text")
	case key == "pattern" && value.Kind == unstable.String:
		r.lockPattern(value, line)
	case key == "patterns" && value.Kind == unstable.Array:
		for it := value.Children(); it.Next(); {
			if at := max(line, r.line(it.Node())); it.Node().Kind != unstable.String {
				wrong("a pattern of a lock is not a text")
			} else {
				r.lockPattern(it.Node(), at)
			}
		}
	case key == "pattern" || key == "patterns":
		wrong(fmt.Sprintf(`%s of a lock is wrong; write patterns = ["exec(make) args(*)"]`, key))
	default:
		r.report("locks", line, fmt.Sprintf("a lock has no %q; it has name and patterns", key))
	}
}

func (r *reader) lockPattern(x *unstable.Node, line int) {
	r.lock.Patterns = append(r.lock.Patterns, permission.Text{Text: string(x.Data), At: r.at(line)})
}

// limit reads one key of [repetition]. What makes no sense leaves what held without it.
func (r *reader) limit(name string, line int, value *unstable.Node) {
	key := "repetition." + name
	switch {
	case name == "enabled" && value.Kind == unstable.Bool:
		on := string(value.Data) == "true"
		r.source.GuardEnabled = &on
	case name == "enabled":
		r.report(key, line, "it is neither true nor false, and does not count")
	case !slices.Contains(permission.GuardLimits(), name):
		r.report(key, line, "there is no such limit; limits are "+strings.Join(permission.GuardLimits(), ", ")+", and enabled")
	case value.Kind != unstable.Integer:
		r.report(key, line, "it is not a whole number, and does not count")
	default:
		n, err := strconv.ParseInt(string(value.Data), 0, 32)
		if err != nil {
			r.report(key, line, fmt.Sprintf("%s is too large, and does not count", value.Data))
			return
		}
		r.source.Guard = append(r.source.Guard, permission.GuardLimit{Name: name, Value: int(n), At: r.at(line)})
	}
}
