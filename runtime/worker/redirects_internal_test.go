package worker

import (
	"testing"

	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
	"hecate/runtime/permissions"
)

// entries are permissions of a test's choosing.
type entries struct {
	Permissions
	permission.Config
}

func (e entries) For(permissions.Project) permission.Config { return e.Config }

// Where a redirect leads is held to the deny entries of the tool that made the request.
func TestRedirectsMeetDenyEntries(t *testing.T) {
	secret, err := pattern.Parse("http_request(https://a.example/secret/*)")
	if err != nil {
		t.Fatal(err)
	}
	config := permission.Config{Entries: []permission.Entry{
		{List: permission.ListHostDeny, Host: host.Host{Name: "evil.example"}, Reason: "Not there."},
		{List: permission.ListHostDeny, Host: host.Host{Name: "xn--bcher-kva.example"}},
		{List: permission.ListDeny, Pattern: secret},
	}}
	a := &attempt{Pool: &Pool{Config: Config{Permissions: entries{Config: config}}}, s: &run.State{}}
	for _, c := range []struct{ tool, url, ascii, want string }{
		{"http_request", "https://evil.example:8443/x", "", "denied by config [network] deny: evil.example: Not there."},
		{"web_fetch", "https://EVIL.example./", "", "denied by config [network] deny: evil.example: Not there."},
		{"web_fetch", "https://b\u00fccher.example/", "xn--bcher-kva.example", "denied by config [network] deny: xn--bcher-kva.example"},
		{"http_request", "https://a.example/secret/x", "", "denied by config pattern http_request(https://a.example/secret/*)"},
		{"http_request", "https://a.example/open/%2e%2e/secret/x", "", "denied by config pattern http_request(https://a.example/secret/*)"},
		{"web_fetch", "https://a.example/secret/x", "", ""},
		{"http_request", "https://good.example/", "", ""},
	} {
		if got := a.deniedURL(c.tool)(c.url, c.ascii); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.url, got, c.want)
		}
	}
	if (&attempt{Pool: &Pool{}}).deniedURL("web_fetch") != nil {
		t.Error("without permissions there is something to deny")
	}
}
