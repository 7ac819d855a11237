// Package client speaks the HTTP contract of a Hecate server, as far as the
// command line needs it: tasks, runs and their calls, approvals, artifacts, the
// event feed, usage, providers and the server itself.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	answerMax      = 256 << 20        // bytes of one answer; a run's artifacts come in one
	answerTimeout  = 60 * time.Second // for one answer; the feed has its own limits
	healthTimeout  = 2 * time.Second
	positionHeader = "Hecate-Position"
	apiPath        = "/hecate/v1"
)

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base     string
	token    string
	operator string // its token, if somebody in particular asks
	http     *http.Client
}

// New returns a client of the server at base, such as "http://127.0.0.1:8765".
// The token may be empty; transport may be nil for the usual one.
func New(base, token string, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("server address %q is no URL such as http://127.0.0.1:8765", base)
	}
	// A redirect would carry the token to whoever it names.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		base: strings.TrimRight(base, "/"), token: token,
		http: &http.Client{Transport: transport, CheckRedirect: refuse},
	}, nil
}

// As returns a client that proves, with an operator's token, who asks. An empty token
// proves nothing. It goes to the operations of the API only, so after it is known that
// a Hecate server answers.
func (c *Client) As(operatorToken string) *Client {
	out := *c
	out.operator = operatorToken
	return &out
}

// BaseURL is the address of the server, without a slash at its end.
func (c *Client) BaseURL() string { return c.base }

// Error is an answer that says no.
type Error struct {
	Status         int    `json:"-"`
	Type           string `json:"type"` // such as invalid_request or not_found
	Message        string `json:"message"`
	UserMessage    string `json:"user_message"`
	OperatorAction string `json:"operator_action"`
}

func (e *Error) Error() string {
	text := e.Message
	if e.UserMessage != "" {
		text = e.UserMessage
	}
	if text == "" {
		text = http.StatusText(e.Status)
	}
	text = fmt.Sprintf("%s (%d %s)", text, e.Status, e.Type)
	if e.OperatorAction != "" {
		text += "; " + e.OperatorAction
	}
	return text
}

// Health asks whether a Hecate server answers at the address, and for its version.
func (c *Client) Health(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	res, err := c.send(ctx, http.MethodGet, "/healthz", nil, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var health struct{ Status, Version string }
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&health); err != nil || health.Status != "ok" {
		return "", fmt.Errorf("what answers at %s is no Hecate server", c.base)
	}
	return health.Version, nil
}

// call sends body (nil for none) and decodes the answer's data into data (nil to
// ignore it). It returns the log position that the answer stands at, 0 if unsaid.
func (c *Client) call(ctx context.Context, method, path string, body, data any) (int64, error) {
	if data == nil {
		return c.exchange(ctx, method, path, body, nil)
	}
	return c.exchange(ctx, method, path, body, &struct{ Data any }{data})
}

// exchange is call with the whole answer decoded into answer.
func (c *Client) exchange(ctx context.Context, method, path string, body, answer any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return 0, fmt.Errorf("encode the request: %w", err)
		}
	}
	res, err := c.send(ctx, method, apiPath+path, payload, nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	position, _ := strconv.ParseInt(res.Header.Get(positionHeader), 10, 64) // absent means unknown
	if answer == nil {
		return position, nil
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerMax+1))
	if err != nil {
		return 0, fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	if len(raw) > answerMax {
		return 0, fmt.Errorf("read the answer of %s %s: it is larger than %d MiB", method, path, answerMax>>20)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return 0, fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return position, nil
}

// send does one exchange. Every status but 2xx comes back as an [Error].
func (c *Client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("X-Hecate-Runtime-Token", c.token)
	}
	if c.operator != "" && strings.HasPrefix(path, apiPath) {
		req.Header.Set("X-Hecate-Operator-Token", c.operator)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, readError(res)
}

func readError(res *http.Response) error {
	answer := struct{ Error Error }{Error{Status: res.StatusCode, Type: "http_error"}}
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || json.Unmarshal(raw, &answer) != nil || answer.Error.Message == "" {
		answer.Error.Message = "the server answered " + res.Status
	}
	if res.StatusCode == http.StatusUnauthorized && answer.Error.OperatorAction == "" {
		answer.Error.OperatorAction = "set HECATE_RUNTIME_TOKEN to the server's token"
	}
	return &answer.Error
}
