package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// sandboxExec returns argv run by macOS's sandbox-exec under the Profile of c.
func (w Wrapper) sandboxExec(argv []string, c Confine) []string {
	out := []string{w.Path, "-p", c.Profile()}
	set := slices.Clone(c.Set)
	if c.Cache != "" {
		// Nothing else can be written, and temporary files of others are nobody's business.
		set = append(set, "XDG_CACHE_HOME="+c.Cache, "GOCACHE="+c.Cache+"/go-build", "TMPDIR="+c.Cache)
	}
	if len(set) > 0 {
		out = append(append(out, "/usr/bin/env"), set...)
	}
	return append(out, argv...)
}

// Profile is c in the language of macOS's Seatbelt, in which the last rule that fits counts.
// It says what bubblewrap's arguments say elsewhere, as far as Seatbelt has words for it:
// there are no namespaces, so /tmp is not private but closed, and processes are kept from
// those outside by rules.
func (c Confine) Profile() string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, "("+format+")\n", args...) }
	rule("version 1")
	rule("allow default")

	rule("deny file-write*")
	rule(`allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/ttys[0-9]+$") (subpath "/dev/fd")`)
	if !c.ReadOnly {
		rule("allow file-write* (subpath %s)", sbpl(real(c.Root)))
	}
	if c.Cache != "" {
		rule("allow file-write* (subpath %s)", sbpl(real(c.Cache)))
	}

	within, elsewhere := c.seatbeltVeils()
	b.WriteString(elsewhere)
	for _, dir := range []string{c.Cache, c.Root} {
		if dir != "" {
			rule("allow file-read* (subpath %s)", sbpl(real(dir)))
		}
	}
	b.WriteString(within)

	// Services outside do what they are asked without knowing of this profile.
	rule("deny appleevent-send")
	rule("deny job-creation")
	rule(`deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd.xpc") (global-name "com.apple.coreservices.launchservicesd")`)
	rule("deny signal")
	rule("allow signal (target same-sandbox)")
	rule("deny process-info*")
	rule("allow process-info* (target same-sandbox)")
	if !c.Network {
		rule("deny network*")
		return b.String()
	}
	rule(`deny network-outbound (remote unix-socket)`)
	rule(`allow network-outbound (literal "/private/var/run/mDNSResponder")`)
	return b.String()
}

// seatbeltVeils are the rules for what is hidden: in the workspace, and elsewhere.
func (c Confine) seatbeltVeils() (within, elsewhere string) {
	root := real(c.Root)
	all := private()
	for _, dir := range c.Hidden {
		all = append(all, veil{path: real(dir), dir: true})
	}
	for _, v := range all {
		verb, filter, what := "deny", "literal", "file-read* file-write*"
		if v.shown {
			verb, what = "allow", "file-read*"
		}
		if v.dir {
			filter = "subpath"
		}
		line := fmt.Sprintf("(%s %s (%s %s))\n", verb, what, filter, sbpl(v.path))
		if v.path != root && below(root, v.path) {
			within += line
		} else {
			elsewhere += line
		}
	}
	return within, elsewhere
}

// sbpl is a text as Seatbelt's language quotes it.
func sbpl(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
