package proof

import (
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Frontier is the right edge of a tree: the roots of the complete subtrees that it
// consists of, which is all that is needed to extend it. The zero value is an empty tree.
type Frontier struct {
	size  int64
	roots []tlog.Hash // of complete subtrees, largest first
}

// Size is the number of leaves.
func (f *Frontier) Size() int64 { return f.size }

func (f *Frontier) clone() Frontier { return Frontier{f.size, slices.Clone(f.roots)} }

// Append adds a leaf and appends the hashes that the tree gets by that to out, in the
// order in which they are numbered: the leaf, then the roots that it completes.
func (f *Frontier) Append(out []tlog.Hash, leaf tlog.Hash) []tlog.Hash {
	out = append(out, leaf)
	for n := f.size; n&1 == 1; n >>= 1 {
		last := len(f.roots) - 1
		leaf = tlog.NodeHash(f.roots[last], leaf)
		f.roots = f.roots[:last]
		out = append(out, leaf)
	}
	f.roots = append(f.roots, leaf)
	f.size++
	return out
}

// Root is the root of the whole tree.
func (f *Frontier) Root() tlog.Hash {
	if f.size == 0 {
		empty, _ := tlog.TreeHash(0, nil) // reads nothing
		return empty
	}
	root := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		root = tlog.NodeHash(f.roots[i], root)
	}
	return root
}

// frontierOf reads the right edge of a tree of that size.
func frontierOf(size int64, r tlog.HashReader) (Frontier, error) {
	f := Frontier{size: size}
	var indexes []int64
	for level := 62; level >= 0; level-- {
		if size>>level&1 == 1 {
			indexes = append(indexes, tlog.StoredHashIndex(level, size>>level-1))
		}
	}
	var err error
	f.roots, err = r.ReadHashes(indexes)
	return f, err
}
