package permission_test

import (
	"testing"

	"hecate/domain/permission"
)

// A change of a file is said in words that are made from its entry.
func TestChangesInWords(t *testing.T) {
	for _, x := range []struct {
		change         permission.Change
		words, meaning string
	}{
		{
			permission.Change{List: permission.ListApprove, Text: "exec(go) args(test *)"},
			"adds exec(go) args(test *) to [permissions] approve",
			"runs without asking: any exec of go whose arguments are test, alone or followed by any others; only go is run, and each argument is passed to it literally, never through a shell",
		},
		{
			permission.Change{List: permission.ListDeny, Text: "exec(npm) args(*)"},
			"adds exec(npm) args(*) to [permissions] deny",
			"refuses, whatever else allows it: any exec of npm, any arguments, also behind wrappers and in shell commands",
		},
		{
			permission.Change{List: permission.ListDeny, Text: "web_fetch(https://a.example/*)", Remove: true},
			"takes web_fetch(https://a.example/*) out of [permissions] deny",
			"no longer refuses, whatever else allows it: any web_fetch that matches web_fetch(https://a.example/*)",
		},
		{
			permission.Change{List: permission.ListHostAllow, Text: "docs.example"},
			"adds docs.example to [network] allow",
			"runs without asking: any https:// GET to exactly docs.example (not subdomains, not other ports), by web_fetch only",
		},
		{
			permission.Change{List: permission.ListHostDeny, Text: "Ads.example"},
			"adds Ads.example to [network] deny",
			"refuses, whatever else allows it: every request to exactly ads.example, on any port (not to subdomains)",
		},
		{permission.Change{List: permission.ListApprove, Text: "nonsense(", Remove: true}, "takes nonsense( out of [permissions] approve", "means nothing in that list"},
	} {
		if words, meaning := x.change.Words(), x.change.Meaning(); words != x.words || meaning != x.meaning {
			t.Errorf("%+v:\n%s\n%s", x.change, words, meaning)
		}
	}
}
