package permission

import (
	"fmt"
	"slices"

	"hecate/domain/permission/repetition"
)

// Repetition is what the files say about the repetition guard.
type Repetition struct {
	Limits  *repetition.Limits // those that hold; nil if the files set none
	Enabled *bool              // nil if the files do not say
}

// Effective returns the limits that hold.
func (r Repetition) Effective() repetition.Limits {
	if r.Limits == nil {
		return repetition.Default
	}
	return *r.Limits
}

// On reports whether the guard watches; otherwise is what holds if no file says so.
func (r Repetition) On(otherwise bool) bool {
	if r.Enabled == nil {
		return otherwise
	}
	return *r.Enabled
}

// GuardLimit is one number of [repetition] as it stands in a file.
type GuardLimit struct {
	Name  string // one of GuardLimits
	Value int
	At    string
}

// GuardLimits are the keys of [repetition] that are numbers.
func GuardLimits() []string {
	names := make([]string, len(limits))
	for i, l := range limits {
		names[i] = l.name
	}
	return names
}

// listRepetition names the guard's limits in problems.
const listRepetition = "repetition"

// limits are the numbers of the guard. A larger one is stricter where it makes the
// guard see more of the past.
var limits = []struct {
	name   string
	of     func(*repetition.Limits) *int
	larger bool // is stricter
}{
	{"window", func(l *repetition.Limits) *int { return &l.Window }, true},
	{"reads", func(l *repetition.Limits) *int { return &l.Reads }, false},
	{"commands", func(l *repetition.Limits) *int { return &l.Commands }, false},
	{"polls", func(l *repetition.Limits) *int { return &l.Polls }, false},
	{"hard", func(l *repetition.Limits) *int { return &l.Hard }, false},
	{"hard_polls", func(l *repetition.Limits) *int { return &l.HardPolls }, false},
	{"exchanges", func(l *repetition.Limits) *int { return &l.Exchanges }, true},
	{"dominant", func(l *repetition.Limits) *int { return &l.Dominant }, false},
	{"period", func(l *repetition.Limits) *int { return &l.Period }, true},
	{"gap", func(l *repetition.Limits) *int { return &l.Gap }, true},
}

// guard understands [repetition] of a file. A file of the project cannot loosen what
// the user has set, and not what holds by default until it is accepted.
func (l *loader) guard(s Source) {
	now, pending := l.config.Repetition.Effective(), s.Guard
	for n := -1; n != len(pending); {
		// One may need another: a larger window before a longer cycle.
		n = len(pending)
		pending = slices.DeleteFunc(slices.Clone(pending), func(t GuardLimit) bool {
			next, why := l.limit(now, t, s)
			if why == "" {
				now = next
			}
			return why == ""
		})
	}
	for _, t := range pending {
		_, why := l.limit(now, t, s)
		l.report(Entry{List: listRepetition, Layer: s.Layer, At: t.At}, true, why)
	}
	if len(s.Guard) > len(pending) {
		l.config.Repetition.Limits = &now
	}
	if s.Layer == LayerUser {
		for _, t := range s.Guard {
			l.userSet[t.Name] = !slices.Contains(pending, t)
		}
	}
	l.switched(s)
}

// limit sets one number, or says why not.
func (l *loader) limit(now repetition.Limits, t GuardLimit, s Source) (next repetition.Limits, why string) {
	i := slices.Index(GuardLimits(), t.Name)
	if i < 0 {
		return now, fmt.Sprintf("there is no limit %q", shorten(t.Name))
	}
	x, next := limits[i], now
	*x.of(&next) = t.Value
	was := *x.of(&now)
	looser := t.Value > was
	if x.larger {
		looser = t.Value < was
	}
	switch {
	case s.Layer == LayerUser || !looser:
	case l.userSet[t.Name]:
		return now, fmt.Sprintf("%s = %d is less strict than the user's %d, which holds", t.Name, t.Value, was)
	case !s.Accepted:
		return now, fmt.Sprintf("%s = %d is less strict than %d, which holds until this file is accepted", t.Name, t.Value, was)
	}
	if err := next.Check(); err != nil {
		return now, fmt.Sprintf("%s = %d is not in force, %d is: %v", t.Name, t.Value, was, err)
	}
	return next, ""
}

// switched understands enabled. On is stricter than off.
func (l *loader) switched(s Source) {
	r := &l.config.Repetition
	why := ""
	switch {
	case s.GuardEnabled == nil:
		return
	case s.Layer == LayerUser || *s.GuardEnabled:
	case r.Enabled != nil && *r.Enabled:
		why = "enabled = false is not in force: the user's file says true"
	case !s.Accepted:
		why = "enabled = false is not in force until this file is accepted"
	}
	if why != "" {
		l.report(Entry{List: listRepetition, Layer: s.Layer}, true, why)
		return
	}
	on := *s.GuardEnabled
	r.Enabled = &on
}
