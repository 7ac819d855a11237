package preset

import (
	"reflect"
	"strings"
	"time"

	"hecate/domain/event"
	"hecate/domain/fault"
)

// State is a policy as it stands: a built-in one, or what the events of its stream fold to.
type State struct {
	ID         string
	BuiltIn    bool
	Exists     bool
	Definition Definition
	CreatedAt  time.Time // zero for a built-in one
	UpdatedAt  time.Time // the same
}

// New is where the fold of a policy begins: a built-in one is complete.
func New(id string) State {
	for _, b := range builtIns {
		if b.ID == id {
			return b
		}
	}
	return State{ID: id}
}

// Apply folds one event.
func (s *State) Apply(e event.Event) {
	switch p := e.Payload.(type) {
	case Created:
		s.Exists, s.Definition, s.CreatedAt, s.UpdatedAt = true, p.Definition, e.At, e.At
	case Updated:
		s.Definition, s.UpdatedAt = p.Definition, e.At
	case Deleted:
		s.Exists = false
	}
}

// Visible returns a not-found fault for a policy that does not exist, or no longer.
func (s State) Visible() error {
	if !s.Exists {
		return fault.NotFound("not_found", "agent preset %q not found", s.ID)
	}
	return nil
}

// own returns a fault unless the policy is somebody's own.
func (s State) own() error {
	if s.BuiltIn {
		return fault.Conflict("conflict", "agent preset %q is built in and cannot be changed; make one of your own with another id", s.ID)
	}
	return s.Visible()
}

// Create writes a policy under an id that is free.
func Create(s State, d Definition) ([]event.Payload, error) {
	if err := CheckID(s.ID); err != nil {
		return nil, err
	}
	if s.Exists {
		return nil, fault.Conflict("conflict", "agent preset %q exists already; choose another id", s.ID)
	}
	d, err := d.Normalize()
	if err != nil {
		return nil, err
	}
	return []event.Payload{Created{Definition: d}}, nil
}

// Update makes a change; one that changes nothing leaves no event.
func Update(s State, c Change) ([]event.Payload, error) {
	if err := s.own(); err != nil {
		return nil, err
	}
	d, err := c.Of(s.Definition).Normalize()
	if err != nil || reflect.DeepEqual(d, s.Definition) {
		return nil, err
	}
	return []event.Payload{Updated{Definition: d}}, nil
}

// Delete takes a policy away. Tasks that were made from it stay as they are.
func Delete(s State) ([]event.Payload, error) {
	if err := s.own(); err != nil {
		return nil, err
	}
	return []event.Payload{Deleted{}}, nil
}

// idMax bounds an id, in bytes.
const idMax = 128

// CheckID returns a fault if no policy can have the id.
func CheckID(id string) error {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	strange := func(r rune) bool { return !letter(r) && !strings.ContainsRune("-_.", r) }
	if id == "" || len(id) > idMax || strings.ContainsFunc(id, strange) || !letter(rune(id[0])) {
		return fault.Invalid("invalid_request", "id must be 1 to %d letters, digits, -, _ and ., beginning with a letter or digit", idMax)
	}
	return nil
}
