package secret

import (
	"slices"
	"strings"
)

// windowMax bounds the window of the search, whose steps are counted in a byte.
const windowMax = 64

// table finds all forms of all values in one pass. It looks at the two bytes at the end of a
// window: from most pairs it follows that no form begins within the next bytes, so that it
// goes on by nearly a whole window.
type table struct {
	values  []held
	forms   []form
	longest int // form, in bytes

	window int // as long as the least that is needed of any form
	skip   [1 << 16]uint8
	ends   map[uint16][]int32 // forms by the pair at the end of their first window
	starts [256][]int32       // forms by their first byte
}

func newTable(values []held) *table {
	t := &table{values: values, window: windowMax, ends: map[uint16][]int32{}}
	for i, h := range values {
		for _, text := range spellings(h.value) {
			t.forms = append(t.forms, form{text, needOf(text), i})
			t.window = min(t.window, needOf(text))
			t.longest = max(t.longest, len(text))
		}
	}
	for i := range t.skip {
		t.skip[i] = uint8(t.window - 1)
	}
	for i, f := range t.forms {
		for at := 1; at < t.window; at++ {
			p := pair(f.text, at)
			t.skip[p] = min(t.skip[p], uint8(t.window-1-at))
		}
		p := pair(f.text, t.window-1)
		t.ends[p] = append(t.ends[p], int32(i))
		t.starts[f.text[0]] = append(t.starts[f.text[0]], int32(i))
	}
	return t
}

// pair is the two bytes of text that end at a place.
func pair(text string, at int) uint16 { return uint16(text[at-1])<<8 | uint16(text[at]) }

// match is where a value stands in a text.
type match struct {
	start, end int
	value      int
}

// find returns the first match that begins at from or behind it.
func (t *table) find(text string, from int) (match, bool) {
	last := t.window - 1
	for end := from + last; end < len(text); {
		p := uint16(text[end-1])<<8 | uint16(text[end])
		if skip := int(t.skip[p]); skip > 0 {
			end += skip
			continue
		}
		if m, ok := t.at(text, end-last, p); ok {
			return m, true
		}
		end++
	}
	return match{}, false
}

// at returns the longest match that begins at start.
func (t *table) at(text string, start int, p uint16) (m match, ok bool) {
	for _, i := range t.ends[p] {
		f := &t.forms[i]
		if n := common(text[start:], f.text); n >= f.need && start+n > m.end {
			m, ok = match{start, start + n, f.of}, true
		}
	}
	return m, ok
}

// common is how many bytes two texts begin with that are the same.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// region is a stretch of a text in which values stand, which may overlap.
type region struct {
	start, end int
	values     []int // those that reach to where the ones before do not
}

// regions yields the stretches of text that hold values, in order.
func (t *table) regions(text string, yield func(region)) {
	m, ok := t.find(text, 0)
	for ok {
		r := region{m.start, m.end, []int{m.value}}
		for m, ok = t.find(text, m.start+1); ok && m.start < r.end; m, ok = t.find(text, m.start+1) {
			if m.end > r.end {
				r.end, r.values = m.end, append(r.values, m.value)
			}
		}
		yield(r)
	}
}

func (t *table) withhold(text string) (string, []string) {
	if len(text) < t.window {
		return text, nil
	}
	var out strings.Builder
	var names []string
	done := 0
	t.regions(text, func(r region) {
		out.WriteString(text[done:r.start])
		names = t.mark(&out, r, names)
		done = r.end
	})
	if done == 0 {
		return text, nil
	}
	out.WriteString(text[done:])
	return out.String(), names
}

// mark writes the markers of a region and adds the names of what stands there.
func (t *table) mark(out *strings.Builder, r region, names []string) []string {
	for i, v := range r.values {
		if !slices.Contains(r.values[:i], v) {
			out.WriteString(Marker(t.values[v].names[0]))
		}
		for _, name := range t.values[v].names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// open is where the end of text begins that may become a form once more of it comes;
// len(text) if none may.
func (t *table) open(text string) int {
	for i := max(0, len(text)-t.longest+1); i < len(text); i++ {
		for _, f := range t.starts[text[i]] {
			if strings.HasPrefix(t.forms[f].text, text[i:]) && len(t.forms[f].text) > len(text)-i {
				return i
			}
		}
	}
	return len(text)
}
