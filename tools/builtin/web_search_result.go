package builtin

import (
	"fmt"
	"strings"

	"hecate/tools"
)

// found is what a provider answered.
type found struct {
	Query   string // as the provider understood it; "" if it doesn't say
	More    bool   // there are more results
	Results []searchResult
}

// searchResult is one page that was found.
type searchResult struct {
	Title, URL, Description string
	Snippets                []string
}

// text is what the model sees. Each part is one line, so that none can pass for another
// result.
func (f found) text(provider string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "provider=%s query=%s results=%d more_results_available=%t", provider, tools.Quoted(line(f.Query)), len(f.Results), f.More)
	if len(f.Results) == 0 {
		b.WriteString("\nNo results.")
	}
	for i, r := range f.Results {
		title := line(r.Title)
		if title == "" {
			title = line(r.URL)
		}
		fmt.Fprintf(&b, "\n\n%d. %s\n%s", i+1, title, line(r.URL))
		if d := line(r.Description); d != "" {
			b.WriteString("\n" + d)
		}
		for _, s := range r.Snippets {
			if s = line(s); s != "" {
				b.WriteString("\n- " + s)
			}
		}
	}
	return b.String()
}

// line is a text of somebody else's as one line: blanks for line ends and other controls.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, tools.Valid(s))
	return strings.Join(strings.Fields(s), " ")
}
