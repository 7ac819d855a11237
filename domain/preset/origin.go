package preset

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"hecate/domain/permission/host"
)

// originMax bounds an origin, in bytes: the longest host name, a scheme and a port.
const originMax = 300

// normalOrigin reads one exact origin of the web, such as HTTPS://Docs.Example:443/, and
// returns its one spelling: https://docs.example. The error says what to write instead.
func normalOrigin(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > originMax {
		return "", fmt.Errorf("an origin has at most %d bytes", originMax)
	}
	if strings.ContainsAny(text, `?#\`) {
		return "", errors.New("an origin has no query and no fragment; write the scheme, the host and a port where it is not the usual one")
	}
	u, err := host.ParseURL(text, "")
	if err != nil {
		return "", err
	}
	parts, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	switch {
	case u.User:
		return "", errors.New("an origin has no user information; leave out all before the @")
	case parts.Path != "" && parts.Path != "/" || parts.Opaque != "":
		return "", errors.New("an origin has no path; leave out all after the host")
	case u.Host.IsZero():
		return "", errors.New("the host has no exact form; write its full name in ASCII, without wildcards")
	}
	return u.Scheme + "://" + u.Host.String(), nil
}
