package snapshot

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// node is one entry of a tree object.
type node struct {
	name string
	mode uint32
	id   oid
}

// tree stores the trees of entries, which are sorted by path, and returns the topmost.
// The order of whole paths is also the order that git wants within each tree. The
// paths share their first at bytes.
func (b *batch) tree(es []entry, at int) (oid, error) {
	var body []byte
	for len(es) > 0 {
		n := node{mode: es[0].mode, id: es[0].id}
		size, below := 1, false
		n.name, _, below = strings.Cut(es[0].path[at:], "/")
		if below {
			prefix := es[0].path[:at+len(n.name)+1]
			if size = slices.IndexFunc(es, func(e entry) bool { return !strings.HasPrefix(e.path, prefix) }); size < 0 {
				size = len(es)
			}
			var err error
			if n.id, err = b.tree(es[:size], len(prefix)); err != nil {
				return oid{}, err
			}
			n.mode = modeDir
		}
		body = append(strconv.AppendUint(body, uint64(n.mode), 8), ' ')
		body = append(append(body, n.name...), 0)
		body = append(body, n.id[:]...)
		es = es[size:]
	}
	return b.put(kindTree, body)
}

// readTree reads one tree object.
func (s *Store) readTree(id oid) ([]node, error) {
	body, err := s.get(id, kindTree, treeBytesMax)
	if err != nil {
		return nil, err
	}
	nodes, err := parseTree(body)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", id, err)
	}
	return nodes, nil
}

// parseTree reads a tree object. It refuses names that are no plain names of files.
func parseTree(body []byte) ([]node, error) {
	var out []node
	for len(body) > 0 {
		head, rest, found := bytes.Cut(body, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		n := node{name: name, mode: uint32(m)}
		if !found || err != nil || len(rest) < len(n.id) {
			return nil, errDamaged
		}
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return nil, fmt.Errorf("it names %q, which is no name of a file", name)
		}
		body = rest[copy(n.id[:], rest):]
		out = append(out, n)
	}
	return out, nil
}

// list returns every file of a tree.
func (s *Store) list(id oid, prefix string, into []entry) ([]entry, error) {
	nodes, err := s.readTree(id)
	for _, n := range nodes {
		if err != nil {
			break
		}
		if n.mode == modeDir {
			into, err = s.list(n.id, prefix+n.name+"/", into)
			continue
		}
		into = append(into, entry{path: prefix + n.name, mode: n.mode, id: n.id, seen: unseen})
	}
	return into, err
}
