package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/egress"
)

// httpRequest makes one request to a web server. Source: agent runtime, "Built-in tools".
var httpRequest = newHTTPRequest(net.DefaultResolver)

// newHTTPRequest makes the tool. Like web_fetch it runs in this process.
func newHTTPRequest(r egress.Resolver) tools.Tool {
	return tools.New(tools.Spec[httpRequestIn]{
		Name: "http_request",
		Summary: "Make an HTTP request and show status and body of the answer. Redirects are followed on the same host; " +
			"one that leads to another host is an error that says where.",
		Check:  func(in *httpRequestIn) error { return in.check(r) },
		Input:  httpRequestInput,
		Line:   httpRequestLine,
		Facts:  httpRequestFacts,
		Handle: runHTTPRequest,
	})
}

type httpRequestIn struct {
	URL     string            `json:"url" jsonschema:"absolute https or http address"`
	Method  string            `json:"method,omitempty" default:"GET" enum:"GET,POST,PUT,PATCH,DELETE,HEAD" jsonschema:"what is asked"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"headers of the request by name"`
	Body    string            `json:"body,omitempty" jsonschema:"body of the request"`

	target *egress.Target // with the addresses that the decision saw
	header http.Header
}

func (in *httpRequestIn) check(r egress.Resolver) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("http_request: %w", err)
		}
	}()
	method := strings.ToUpper(strings.TrimSpace(in.Method))
	if method == "" {
		method = http.MethodGet
	}
	if !slices.Contains(egress.Methods(), method) {
		return fmt.Errorf("unsupported method %s", tools.Quoted(tools.Cut(in.Method, titleTypeMax)))
	}
	in.Method = method
	if u, err := url.Parse(in.URL); err == nil {
		switch scheme := strings.ToLower(u.Scheme); {
		case scheme != "http" && scheme != "https":
			return fmt.Errorf("scheme %s is not allowed; use http or https", tools.Quoted(tools.Cut(u.Scheme, titleTypeMax)))
		case u.Hostname() == "":
			return errors.New("URL has no host")
		}
	}
	if in.target, err = egress.NewTarget(in.URL, r); err != nil {
		return err
	}
	in.header, err = egress.Headers(in.Headers)
	return err
}

// httpRequestInput leaves out what may hold a secret: query, values of headers, body.
func httpRequestInput(in httpRequestIn) map[string]any {
	return map[string]any{
		"method": in.Method, "url": in.target.Place(), "header_names": slices.Sorted(maps.Keys(in.header)), "body_bytes": len(in.Body),
	}
}

func httpRequestLine(in httpRequestIn) (line string, complete bool) {
	line = fmt.Sprintf("http_request method=%s origin=%s", in.Method, in.target.Origin())
	return line, in.target.Bare() && len(in.Headers) == 0 && in.Body == ""
}

func httpRequestFacts(at tools.Place, in httpRequestIn) permission.Facts {
	f := urlFacts(at, in.URL, in.target)
	reads := in.Method == http.MethodGet || in.Method == http.MethodHead
	f.Plain = reads && in.target.Scheme() == "https" && len(in.Headers) == 0 && in.Body == ""
	return f
}

// urlFacts are those of a call that is about a URL.
func urlFacts(at tools.Place, text string, target *egress.Target) permission.Facts {
	f := permission.Facts{Principal: text, ASCIIHost: target.ASCIIHost()}
	if at.Root != nil && !at.Offline {
		f.Addrs = target.Addrs(context.Background()) // at most two seconds, once
	}
	return f
}

func runHTTPRequest(ctx context.Context, env *tools.Env, in httpRequestIn) tools.Result {
	r, err := egress.Do(ctx, in.target, egress.Request{Method: in.Method, Header: in.header, Body: in.Body}, env.Settings.HTTP, env.DeniedURL)
	if err != nil {
		return notAnswered(ctx, env, err)
	}
	var b strings.Builder
	address := tools.ShownName(tools.Cut(tools.Valid(r.URL), urlShownMax))
	fmt.Fprintf(&b, "status=%d url=%s bytes=%d", r.Status, address, len(r.Body))
	if r.Truncated {
		b.WriteString(" truncated=true")
	}
	if r.ContentType != "" {
		b.WriteString(" content_type=" + tools.ShownName(tools.Cut(tools.Valid(r.ContentType), titleTypeMax)))
	}
	body := r.Body
	if r.Truncated {
		body = body[:wholeRunes(body)]
	}
	b.WriteString("\n--- body ---\n" + tools.Valid(string(body)))
	if r.Truncated {
		fmt.Fprintf(&b, "\n…(truncated at %d bytes; configure HECATE_TASK_HTTP_MAX_RESPONSE_BYTES to widen)", len(r.Body))
	}
	res := done(in.Method+" "+in.target.Place(), b.String())
	res.Output = map[string]any{"status": r.Status, "bytes_read": len(r.Body), "truncated": r.Truncated}
	return res
}

// notAnswered is the result of a call whose request came to nothing.
func notAnswered(ctx context.Context, env *tools.Env, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Cancelled(ctx, env.ToolName)
	}
	f := refused(env, "%v", err)
	if errors.As(err, new(*egress.Refused)) {
		f.ErrorKind = tools.KindPolicy
	}
	return f
}
