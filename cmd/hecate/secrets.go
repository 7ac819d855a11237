package main

import (
	"encoding/base64"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/operators"
	"hecate/domain/secret"
)

var (
	// secretName is what variables are called that hold a secret as it is.
	secretName = regexp.MustCompile(`(?i)(?:(?:^|_)(?:KEY|TOKEN|PAT|PASS|AUTH|COOKIE|DSN)|APIKEY|SECRET|PASSWD|PASSWORD|PASSPHRASE|CREDENTIALS?)$`)
	// secretMember is a secret in the query of a URL, or in the words of a database's address.
	secretMember = regexp.MustCompile(`(?i)(?:^|[?&\s])(?:ssl)?(?:password|token|access_token|api_?key|key|secret|sig|signature)=('(?:[^'\\]|\\.)*'|[^&#\s]+)`)
)

// holdSecrets gathers what the server knows and must not record, by the variables and files
// that it is in. What cannot be told from ordinary text is named in the log.
func holdSecrets(c config, log *slog.Logger) *secret.Set {
	h := holder{set: &secret.Set{}}
	for _, name := range slices.Sorted(maps.Keys(c.environ)) {
		h.variable(name, c.environ[name])
	}
	h.file("HECATE_WEBHOOK_SECRET_FILE", c.environ["HECATE_WEBHOOK_SECRET_FILE"])
	for _, t := range c.Outbound.Targets {
		h.file("HECATE_FORWARD_URL", t.Creds)
	}
	if len(h.weak) > 0 {
		log.Warn("these secrets are too short, or too much like a word, to be found in what is recorded: choose longer ones", "names", h.weak)
	}
	return h.set
}

// holdOwn adds what stands in the data directory, once that is set up.
func holdOwn(set *secret.Set, c config, known *operators.List) {
	h := holder{set: set}
	h.file("HECATE_AUDIT_KEY_FILE", c.AuditKeyFile)
	if token, err := operators.ReadToken(filepath.Join(c.DataDir, operators.TokenFile)); err == nil {
		known := heldOperators{known, set}
		known.Operator(token)
	}
}

// holder gathers secrets.
type holder struct {
	set  *secret.Set
	weak []string // names of those of the server's own that cannot be held
}

func (h *holder) add(name, value string) {
	if key, ok := strings.CutPrefix(strings.TrimSpace(value), "whsec_"); ok {
		h.set.Add(name, key) // also without the word in front of it
	}
	if h.set.Add(name, value) || value == "" || slices.Contains(h.weak, name) {
		return
	}
	if strings.HasPrefix(name, "HECATE_") || strings.HasSuffix(name, "_API_KEY") {
		h.weak = append(h.weak, name)
	}
}

// variable looks for secrets in a variable of the environment.
func (h *holder) variable(name, value string) {
	switch {
	case strings.HasSuffix(name, "_HEADERS"):
		for pair := range strings.SplitSeq(value, ",") {
			_, text, _ := strings.Cut(pair, "=")
			h.header(name, text)
		}
	case strings.Contains(value, "://"), strings.Contains(value, "password="):
		h.address(name, value)
	case secretName.MatchString(name) && !isFile(value):
		h.add(name, value)
	}
}

// header adds what a header holds behind the name of a scheme.
func (h *holder) header(name, text string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return
	}
	last := words[len(words)-1]
	h.set.Add(name, last)
	if raw, err := base64.StdEncoding.DecodeString(last); err == nil {
		_, password, _ := strings.Cut(string(raw), ":")
		h.set.Add(name, password)
	}
}

// address adds the passwords and tokens of addresses, whatever stands between these.
func (h *holder) address(name, value string) {
	for _, m := range secretMember.FindAllStringSubmatch(value, -1) {
		h.spelled(name, strings.Trim(m[1], "'"))
	}
	for rest := value; ; {
		var ok bool
		if _, rest, ok = strings.Cut(rest, "://"); !ok {
			return
		}
		authority := rest
		if i := strings.IndexAny(rest, "/?# \t\n"); i >= 0 {
			authority = rest[:i]
		}
		at := strings.LastIndexByte(authority, '@')
		if at < 0 {
			continue
		}
		user, password, ok := strings.Cut(authority[:at], ":")
		if !ok {
			password = user // a token
		}
		h.spelled(name, password)
	}
}

// spelled adds a text of an address as it is there, and as it is meant.
func (h *holder) spelled(name, text string) {
	h.set.Add(name, text)
	if meant, err := url.PathUnescape(text); err == nil {
		h.set.Add(name, meant)
	}
}

// file adds what a file holds that a setting names: a key that signs, a credential on a line
// of its own, or one secret.
func (h *holder) file(name, path string) {
	if path == "" {
		return
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return // whoever needs it says so
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if parts := strings.SplitN(line, "+", 5); len(parts) == 5 && parts[0] == "PRIVATE" {
			line = parts[4]
		}
		if !strings.HasPrefix(line, "-----") && !strings.Contains(line, " ") {
			h.set.Add(name, line)
			h.set.Add(name, strings.TrimPrefix(line, "whsec_"))
		}
	}
}

func isFile(value string) bool {
	if !filepath.IsAbs(value) {
		return false
	}
	_, err := os.Stat(value)
	return err == nil
}

// heldOperators are the operators of the server, whose tokens it holds once it was shown
// them: its list has only their digests.
type heldOperators struct {
	*operators.List
	secrets *secret.Set
}

// Operator returns the name that goes with an active token, "" if none does.
func (o heldOperators) Operator(token string) string {
	name := o.List.Operator(token)
	if name != "" {
		o.secrets.Add("operator:"+name, token)
	}
	return name
}
