package forward

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The kinds of brokers.
const (
	KindNATS  = "nats"
	KindKafka = "kafka"
)

// topicDefault is the topic of a target that names none.
const topicDefault = "hecate.events"

// Target is a broker and a topic there. What fmt prints of it is its name.
type Target struct {
	Kind    string
	TLS     bool
	Hosts   []string // host:port, at least one
	Topic   string   // of Kafka, or what subjects of NATS begin with
	FromNow bool     // a first start begins behind the newest event

	User, Password string // both "" if there are none; a token of NATS is a user without a password
	SASL           string // of Kafka: plain, scram-sha-256 or scram-sha-512
	Creds          string // of NATS: a file with a user's JWT and seed
	CA             string // a file with the certificates to trust, PEM
}

// Name names the target without what is secret about it.
func (t Target) Name() string {
	scheme := t.Kind
	if t.TLS {
		scheme += "+tls"
	}
	return scheme + "://" + strings.Join(t.Hosts, ",") + "/" + t.Topic
}

// String is the target's name.
func (t Target) String() string { return t.Name() }

// GoString is the target's name, too.
func (t Target) GoString() string { return t.Name() }

var (
	topicForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9_.:\[\]-]+$`)
)

const topicMax = 200 // bytes

// defaultPorts are those of the kinds.
var defaultPorts = map[string]string{KindNATS: "4222", KindKafka: "9092"}

// ParseTargets reads targets that are separated by commas:
//
//	nats://user:password@host:4222/subject.prefix?from=now
//	kafka+tls://user:password@one:9092,two:9092/topic?sasl=scram-sha-512
//
// Errors show nothing of what stands before the hosts.
func ParseTargets(text string) ([]Target, error) {
	var out []Target
	var all error
	for _, one := range splitTargets(text) {
		t, err := parseTarget(one)
		switch {
		case err != nil:
			all = errors.Join(all, fmt.Errorf("target %d: %w", len(out)+1, err))
		case slices.ContainsFunc(out, func(o Target) bool { return o.Name() == t.Name() }):
			all = errors.Join(all, fmt.Errorf("%s is there twice", t))
		}
		out = append(out, t)
	}
	return out, all
}

// splitTargets cuts at the commas that begin a target: further hosts follow one, too.
func splitTargets(text string) (out []string) {
	for piece := range strings.SplitSeq(text, ",") {
		piece = strings.TrimSpace(piece)
		switch {
		case piece == "":
		case len(out) == 0 || strings.Contains(piece, "://"):
			out = append(out, piece)
		default:
			out[len(out)-1] += "," + piece
		}
	}
	return out
}

func parseTarget(text string) (Target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Target{}, errors.New("it does not begin with nats:// or kafka://")
	}
	t := Target{}
	t.Kind, t.TLS = strings.CutSuffix(scheme, "+tls")
	if defaultPorts[t.Kind] == "" {
		return Target{}, errors.New("use nats://, nats+tls://, kafka:// or kafka+tls://")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		var err error
		if t.User, t.Password, err = userinfo(authority[:i]); err != nil {
			return Target{}, err
		}
		authority = authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			host += ":" + defaultPorts[t.Kind]
		}
		name, port, err := net.SplitHostPort(host)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || name == "" || !hostForm.MatchString(host) {
			return Target{}, errors.New("a host is missing or is not host:port")
		}
		t.Hosts = append(t.Hosts, host)
	}
	return t, t.parseTail(tail)
}

// userinfo reads what stands before the @.
func userinfo(text string) (user, password string, err error) {
	user, password, _ = strings.Cut(text, ":")
	if user, err = url.PathUnescape(user); err == nil {
		password, err = url.PathUnescape(password)
	}
	if err != nil {
		return "", "", errors.New("user or password is not well written: use %XX for characters with a meaning in URLs")
	}
	return user, password, nil
}

// parseTail reads path and options.
func (t *Target) parseTail(tail string) error {
	path, query, _ := strings.Cut(tail, "?")
	if t.Topic = strings.Trim(path, "/"); t.Topic == "" {
		t.Topic = topicDefault
	}
	if len(t.Topic) > topicMax || !topicForm.MatchString(t.Topic) {
		return errors.New("the topic after the host may have letters, digits, _ and -, in parts separated by dots")
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the options after the ? are not well written")
	}
	for name, values := range options {
		if err := t.option(name, values[len(values)-1]); err != nil {
			return err
		}
	}
	if t.Kind == KindKafka && t.User != "" && t.SASL == "" {
		t.SASL = "plain"
	}
	return nil
}

func (t *Target) option(name, value string) error {
	switch {
	case name == "from" && (value == "now" || value == "beginning"):
		t.FromNow = value == "now"
	case name == "from":
		return errors.New("from is now or beginning")
	case name == "ca":
		t.CA = value
	case name == "creds" && t.Kind == KindNATS:
		t.Creds = value
	case name == "sasl" && t.Kind == KindKafka && slices.Contains([]string{"plain", "scram-sha-256", "scram-sha-512"}, value):
		t.SASL = value
	case name == "sasl" && t.Kind == KindKafka:
		return errors.New("sasl is plain, scram-sha-256 or scram-sha-512")
	default:
		return fmt.Errorf("there is no option %.40q of %s", name, t.Kind)
	}
	return nil
}

// Clean is an error's text without the target's secrets, should a client show them.
func (t Target) Clean(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	secret := t.Password
	if secret == "" {
		secret = t.User // a token
	}
	if secret != "" {
		text = strings.NewReplacer(secret, "…", url.QueryEscape(secret), "…").Replace(text)
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
