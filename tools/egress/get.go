package egress

import (
	"context"
	"fmt"
	"net/http"

	"hecate/domain/permission/host"
)

// Get fetches a target and follows its redirects on the same host over https, at most
// ten. A status of failure is no error. A *Refused says that the settings, or denied for
// a redirect, forbid it.
func Get(ctx context.Context, t *Target, s Settings, denied Denied) (Response, error) {
	header := http.Header{"Accept": {"text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5"}}
	return newClient(s, denied).do(ctx, hop{t, Request{Method: http.MethodGet, Header: header}}, stayOnHost)
}

// stayOnHost follows what needs no question: see host.FollowRedirect.
func stayOnHost(from hop, r *http.Response) (*hop, string, error) {
	to := location(r)
	if to == "" {
		return nil, "", nil
	}
	next, follow := host.FollowRedirect(from.at.URL(), to)
	if !follow {
		return nil, next, nil
	}
	at, err := NewTarget(next, from.at.resolver)
	if err != nil {
		return nil, "", fmt.Errorf("follow a redirect: %w", err)
	}
	return &hop{at, from.Request}, "", nil
}

// location is where a response sends readers, "" if nowhere.
func location(r *http.Response) string {
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return r.Header.Get("Location")
	}
	return ""
}
