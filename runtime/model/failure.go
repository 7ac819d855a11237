package model

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// RetryAfterMax is the longest wait that a provider is believed to ask for.
// Callers wait far less: what is longer than they bear, they treat as a refusal.
const RetryAfterMax = 24 * time.Hour

const (
	errorBodyMax    = 64 << 10 // bytes of an error answer that are read
	errorMessageMax = 2 << 10  // bytes of it that are shown
)

// complaint is what a provider says about a failure, in whichever form.
type complaint struct {
	message string
	typ     string
	code    string
}

// failure builds the error for a complaint. Status is that of the HTTP answer;
// inside a stream it is 200 and the complaint's own code stands in for it.
func (c complaint) failure(status int) *Error {
	effective := status
	if n, err := strconv.Atoi(c.code); err == nil && n >= 400 && n < 600 && status < 400 {
		effective = n
	}
	kind, retryable := classify(effective, strings.ToLower(c.typ+" "+c.code), strings.ToLower(c.message))
	typ := c.typ
	if typ == "" {
		if _, err := strconv.Atoi(c.code); err != nil {
			typ = c.code
		}
	}
	return &Error{Kind: kind, Status: status, Type: typ, Message: c.message, Retryable: retryable}
}

// classify decides what kind of failure it is: first by what only one kind says, then by status.
func classify(status int, label, message string) (ErrorKind, bool) {
	switch {
	case has(label, "context_length", "exceed_context_size"),
		status != http.StatusTooManyRequests && has(message,
			"maximum context length", "context length exceeded", "prompt is too long", "context window", "context size"):
		return ContextLength, false
	case has(label, "overloaded"):
		return Overloaded, true
	case has(label, "insufficient_quota", "billing"):
		return RateLimited, false // waiting does not fill an account
	case has(label, "rate_limit", "too_many_requests", "resource_exhausted"):
		return RateLimited, true
	}
	switch {
	case status == http.StatusTooManyRequests:
		return RateLimited, true
	case status == http.StatusServiceUnavailable || status == 529:
		return Overloaded, true
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusConflict:
		return UpstreamError, true
	case status >= 400:
		return InvalidRequest, false
	case status >= 300:
		return UpstreamError, false // a redirect, which is never followed: it could take the key elsewhere
	case has(label, "invalid_request", "authentication", "permission", "not_found", "request_too_large"):
		return InvalidRequest, false
	}
	return UpstreamError, true
}

func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// readComplaint understands the error bodies in use: an error object or string
// under "error" (OpenAI, Anthropic and their kin, also in a list), a bare
// message or detail, and plain text.
func readComplaint(status int, body []byte) complaint {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	var c complaint
	if json.Unmarshal(body, &form) == nil {
		c = complaintIn(form.Error)
		for _, raw := range []json.RawMessage{form.Message, form.Detail} {
			if c.message == "" {
				c.message = textOf(raw)
			}
		}
	} else if !bytes.HasPrefix(body, []byte("<")) {
		c.message = string(body)
	}
	if strings.TrimSpace(c.message) == "" {
		c.message = http.StatusText(status)
	}
	c.message = shorten(c.message)
	return c
}

// complaintIn reads the value of an "error" field: an object or a string.
func complaintIn(raw json.RawMessage) complaint {
	var o struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return complaint{message: shorten(textOf(raw))}
	}
	c := complaint{message: shorten(textOf(o.Message)), typ: textOf(o.Type), code: textOf(o.Code)}
	if c.typ == "" {
		c.typ = textOf(o.Status)
	}
	return c
}

// textOf returns a JSON string's text, "" for null, and anything else as it is written.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func shorten(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if len(s) <= errorMessageMax {
		return s
	}
	cut := errorMessageMax
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// retryAfter reads a Retry-After header: seconds or an HTTP date. The past and
// anything unreadable is 0, and nothing is longer than RetryAfterMax.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	var wait time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) { // also not a number
			return 0
		}
		wait = time.Duration(min(seconds, RetryAfterMax.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), RetryAfterMax)
}
