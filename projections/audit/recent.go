package audit

// recent remembers what was used last: at least max things, at most about twice as many.
type recent[K comparable, V any] struct {
	max        int
	young, old map[K]V
}

func newRecent[K comparable, V any](most int) *recent[K, V] {
	return &recent[K, V]{max: most, young: map[K]V{}}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	v, ok := r.young[k]
	if !ok {
		if v, ok = r.old[k]; ok {
			r.young[k] = v
		}
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) { r.young[k] = v }

func (r *recent[K, V]) forget(k K) {
	delete(r.young, k)
	delete(r.old, k)
}

// trim drops what was not used for long if there is too much, and reports whether it did.
func (r *recent[K, V]) trim() bool {
	if len(r.young) < r.max {
		return false
	}
	dropped := len(r.old) > 0
	r.old, r.young = r.young, make(map[K]V, r.max)
	return dropped
}
