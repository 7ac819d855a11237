package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hecate/domain/clock"
)

// AnswerBytesMax is the largest answer that is read in one piece, without streaming.
const AnswerBytesMax = 64 << 20

// drainMax is how long a call waits for the end of a stream whose answer is
// complete. Reading the end lets the next call use the same connection.
const drainMax = 100 * time.Millisecond

// errorBodyWait is how long the text of an error answer is waited for.
const errorBodyWait = 5 * time.Second

// Endpoint is where a provider is asked.
type Endpoint struct {
	BaseURL string // absolute http or https URL
	APIKey  string // empty: no credentials are sent
	// ChatPath and ModelsPath go under BaseURL. Empty means the dialect's own,
	// with /v1 put in between unless the base ends in it.
	ChatPath   string
	ModelsPath string
	// OutputLimit is the field of a Chat Completions request that limits the
	// answer; empty: max_tokens.
	OutputLimit string
	HTTP        *http.Client // nil: a client of its own from NewHTTPClient
	Clock       clock.Clock  // for dates in Retry-After; nil: the machine's
}

// NewHTTPClient returns the client for talking to providers. It has no time
// limit of its own, because slow models are normal: the context of a call rules.
// Redirects are not followed, since they could carry the key to another host.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2:     true,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConns:          256,
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (e Endpoint) withDefaults() Endpoint {
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	if e.OutputLimit == "" {
		e.OutputLimit = "max_tokens"
	}
	if e.HTTP == nil {
		e.HTTP = NewHTTPClient()
	}
	if e.Clock == nil {
		e.Clock = clock.System{}
	}
	return e
}

// url joins the base with a path of its own or, without one, with the dialect's.
func (e Endpoint) url(own, dialect string) string {
	switch {
	case own != "":
		return e.BaseURL + own
	case strings.HasSuffix(e.BaseURL, "/v1"):
		return e.BaseURL + dialect
	}
	return e.BaseURL + "/v1" + dialect
}

// answer is an HTTP answer with status 200 that is still to be read.
type answer struct {
	*http.Response
	cancel context.CancelFunc
}

// close gives the connection back for the next call if the answer ends soon, else drops it.
func (a *answer) close() {
	timer := time.AfterFunc(drainMax, a.cancel)
	_, _ = io.CopyN(io.Discard, a.Body, 64<<10) // what follows a complete answer is of no interest
	timer.Stop()
	a.cancel()
	_ = a.Body.Close() // nothing is left to lose
}

// drop ends the answer where it stands.
func (a *answer) drop() {
	a.cancel()
	_ = a.Body.Close()
}

// trace adds to the headers whose part the call is.
func (c Call) trace(headers http.Header) http.Header {
	if c.Traceparent != "" {
		headers.Set("Traceparent", c.Traceparent)
	}
	if c.Traceparent != "" && c.Carried.State != "" {
		headers.Set("Tracestate", c.Carried.State)
	}
	if c.Carried.Baggage != "" {
		headers.Set("Baggage", c.Carried.Baggage)
	}
	return headers
}

// post sends body as JSON with the headers and returns the answer if its status is 200.
func (e Endpoint) post(ctx context.Context, target string, headers http.Header, body []byte) (*answer, error) {
	headers.Set("Content-Type", "application/json")
	return e.send(ctx, http.MethodPost, target, headers, bytes.NewReader(body))
}

func (e Endpoint) send(ctx context.Context, method, target string, headers http.Header, body io.Reader) (*answer, error) {
	own, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(own, method, target, body)
	if err != nil {
		cancel()
		return nil, &Error{Kind: InvalidRequest, Message: "the provider's address is unusable", Cause: err}
	}
	req.Header = headers
	req.Header.Set("User-Agent", "hecate")
	resp, err := e.HTTP.Do(req)
	if err != nil {
		cancel()
		return nil, e.transportFailure(ctx, err)
	}
	a := &answer{resp, cancel}
	if resp.StatusCode != http.StatusOK {
		return nil, e.refusal(a)
	}
	return a, nil
}

// transportFailure is the error of a request that got no answer. It leaves out
// the URL, which may hold what is nobody's business.
func (e Endpoint) transportFailure(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return canceled(ctx.Err())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &Error{Kind: Unreachable, Message: e.redact(err.Error()), Retryable: true, Cause: err}
}

func canceled(err error) *Error {
	return &Error{Kind: Canceled, Message: err.Error(), Cause: err}
}

// refusal reads an answer with another status than 200.
func (e Endpoint) refusal(a *answer) *Error {
	timer := time.AfterFunc(errorBodyWait, a.cancel)
	body, _ := io.ReadAll(io.LimitReader(a.Body, errorBodyMax)) // what came is enough, the status says the rest
	timer.Stop()
	a.close()
	failure := readComplaint(a.StatusCode, body).failure(a.StatusCode)
	failure.RetryAfter = retryAfter(a.Header.Get("Retry-After"), e.Clock.Now())
	return e.clean(failure)
}

// clean removes the key from what is shown: some providers repeat it.
func (e Endpoint) clean(f *Error) *Error {
	f.Message = e.redact(f.Message)
	f.Type = e.redact(f.Type)
	return f
}

func (e Endpoint) redact(s string) string {
	if e.APIKey == "" {
		return s
	}
	return strings.ReplaceAll(s, e.APIKey, "[redacted]")
}
