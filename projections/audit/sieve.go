package audit

import "hash/maphash"

const (
	sieveBits  = 1 << 25 // 4 MB: of two million names one in 400 is asked for in vain, of eight million one in six
	sieveProbe = 4       // bits of a name
	sieveFrom  = 8 << 10 // names that there must be before it is worth its memory
)

// sieve knows which names have certainly not been met. A model that is built from nothing
// meets more than it keeps, and need ask the database only for those that it may have had.
type sieve struct {
	seed maphash.Seed
	bits []uint64 // nil where it knows nothing
}

// add takes a name, the nth. It begins while whole says that the recent ones are all
// others that there are.
func (s *sieve) add(n name, nth int64, whole bool, recent *recent[name, code]) {
	if s.bits == nil {
		if nth < sieveFrom || !whole {
			return
		}
		s.seed, s.bits = maphash.MakeSeed(), make([]uint64, sieveBits/64)
		for _, names := range []map[name]code{recent.young, recent.old} {
			for one := range names {
				s.set(one)
			}
		}
	}
	s.set(n)
}

func (s *sieve) set(n name) {
	for bit := range s.probes(n) {
		s.bits[bit/64] |= 1 << (bit % 64)
	}
}

// may reports whether the name may have been met.
func (s *sieve) may(n name) bool {
	if s.bits == nil {
		return true
	}
	for bit := range s.probes(n) {
		if s.bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

func (s *sieve) probes(n name) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		h := maphash.Comparable(s.seed, n)
		step := h>>32 | 1
		for range sieveProbe {
			if !yield(h % sieveBits) {
				return
			}
			h += step
		}
	}
}
