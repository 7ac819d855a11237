package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Change is one entry that is added to, or taken out of, one list of one file.
type Change struct {
	Layer  Layer  `json:"layer"` // whose file
	List   string `json:"list"`  // one of Lists
	Text   string `json:"text"`  // a pattern, or a host for the lists of hosts
	Reason string `json:"reason,omitempty"`
	Remove bool   `json:"remove,omitempty"`
}

// Lists are the lists that a file may have.
func Lists() []string {
	return []string{ListDeny, ListApprove, ListPromoted, ListHostDeny, ListHostAllow, ListHostPromoted}
}

// hostList reports whether the entries of a list are hosts.
func hostList(list string) bool { return strings.HasPrefix(list, "network.") }

// Grants reports whether the entry makes more possible while it is in its list.
func (c Change) Grants() bool { return c.List != ListDeny && c.List != ListHostDeny }

// Check returns an error if the entry could not be in force where it is to be added.
// What is taken out needs no meaning: that may be why it has to go.
func (c Change) Check() error {
	switch {
	case c.Layer != LayerUser && c.Layer != LayerProject:
		return fmt.Errorf("there is no file of %q; files are those of user and project", c.Layer)
	case !slices.Contains(Lists(), c.List):
		return fmt.Errorf("there is no list %q; lists are %s", c.List, strings.Join(Lists(), ", "))
	case !utf8.ValidString(c.Text) || !utf8.ValidString(c.Reason):
		return errors.New("the entry is no UTF-8; the file could not hold it")
	case c.Text == "":
		return errors.New("the entry is empty")
	case len(c.Reason) > reasonMax:
		return fmt.Errorf("the reason has %d bytes; write at most %d", len(c.Reason), reasonMax)
	case c.Remove:
		return nil
	}
	_, err := meaning(c.List, c.Text)
	return err
}

// Same reports whether two texts are one entry of the list, however they are spelled.
func (c Change) Same(text string) bool {
	if text == c.Text {
		return true
	}
	a, err := meaning(c.List, c.Text)
	if err != nil {
		return false
	}
	b, err := meaning(c.List, text)
	return err == nil && a == b
}

// meaning is an entry of a list in its canonical form. The error says why it cannot be
// in force there.
func meaning(list, text string) (string, error) {
	if hostList(list) {
		h, err := host.Parse(text)
		if err != nil {
			return "", fmt.Errorf("host %q: %w", shorten(text), err)
		}
		return h.String(), nil
	}
	p, err := pattern.Parse(text)
	if err == nil {
		if list == ListDeny {
			err = p.ForDeny()
		} else {
			_, err = p.ForApprove()
		}
	}
	return p.String(), err
}
