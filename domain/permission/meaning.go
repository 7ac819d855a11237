package permission

import (
	"fmt"
	"strings"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Words say what is done to which list.
func (c Change) Words() string {
	table, key, _ := strings.Cut(c.List, ".")
	if c.Remove {
		return fmt.Sprintf("takes %s out of [%s] %s", c.Text, table, key)
	}
	return fmt.Sprintf("adds %s to [%s] %s", c.Text, table, key)
}

// Meaning says in plain words what the entry does in its list, made from the entry.
func (c Change) Meaning() string {
	if _, err := meaning(c.List, c.Text); err != nil {
		return "means nothing in that list"
	}
	what := ""
	if h, err := host.Parse(c.Text); hostList(c.List) && err == nil {
		what = hostMeaning(c.List, h)
	} else if p, err := pattern.Parse(c.Text); err == nil {
		what = patternMeaning(c.List, p)
	}
	if c.Remove {
		return "no longer " + what
	}
	return what
}

func hostMeaning(list string, h host.Host) string {
	if list == ListHostDeny {
		return fmt.Sprintf("refuses, whatever else allows it: every request to exactly %s, on any port (not to subdomains)", h)
	}
	return "runs without asking: " + hostOffer(h).Covers
}

func patternMeaning(list string, p pattern.Pattern) string {
	if list != ListDeny {
		return "runs without asking: " + p.Meaning()
	}
	clause, _, _ := strings.Cut(p.Meaning(), ";")
	if !p.Bare() && (NamesURL(p.Tool()) || strings.HasPrefix(clause, "nothing")) { // what it means as a grant is another thing
		clause = fmt.Sprintf("any %s that matches %s", p.Tool(), p)
	}
	reach := ""
	switch {
	case p.Tool() == "exec":
		reach = ", also behind wrappers and in shell commands"
	case pattern.Edits(p.Tool()):
		reach = ", and the same by any other editing tool"
	case p.Tool() == "view":
		reach = ", and of blame and stat"
	}
	return "refuses, whatever else allows it: " + clause + reach
}
