package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hecate/api/auth"
	"hecate/api/console"
	"hecate/api/envelope"
	"hecate/api/request"
	v1 "hecate/api/v1"
	"hecate/domain/clock"
	"hecate/domain/ident"
	"hecate/domain/trace"
	"hecate/projections/audit"
	"hecate/projections/presets"
	"hecate/projections/runs"
	"hecate/projections/usage"
)

// Headers that every answer has or every request may have.
const (
	requestIDHeader   = "X-Request-Id"
	positionHeader    = "Hecate-Position"
	minPositionHeader = "Hecate-Min-Position"
	minPositionQuery  = "min_position"
)

// door is what every request passes before it reaches an operation.
type door struct {
	next   http.Handler
	guard  *auth.Guard
	models v1.Models
	head   func(context.Context) (int64, error) // of the log
	random func() [16]byte                      // 16 fresh random bytes, for trace ids
	wait   time.Duration                        // how long a request may wait for the position that it demands
	clock  clock.Clock
	log    *slog.Logger

	sampled func(traceID string, caller trace.Parent) bool
	served  func(request.Served) // nil if nobody wants to know
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.Info{ID: r.Header.Get(requestIDHeader)}
	if !request.SaneID(info.ID) {
		info.ID = ident.New("req")
	}
	info.Join(r.Header.Get("traceparent"), d.random, d.sampled)
	info.Carried = trace.Carry(info.Caller, r.Header.Values("tracestate"), r.Header.Values("baggage"))
	t := &tracked{ResponseWriter: w}
	start := d.clock.Now()
	defer func() { d.tell(t, r, info, start) }()
	t.Header().Set(requestIDHeader, info.ID)
	t.Header().Set("X-Content-Type-Options", "nosniff")
	defer d.recover(t, r, info)

	actor, refused := d.guard.Check(r)
	info.Actor = actor
	if refused != nil && r.ContentLength != 0 {
		t.Header().Set("Connection", "close") // or the body of a stranger would be waited for, to be thrown away
	}
	if refused == nil && !readable(r) {
		refused = envelope.New(http.StatusBadRequest, envelope.TypeInvalid, "the path and the query must be UTF-8 without NUL bytes")
	}
	if refused == nil {
		var err error
		if info.CommandID, err = request.CommandID(r); err != nil {
			refused = envelope.New(http.StatusBadRequest, envelope.TypeInvalid, err.Error())
		}
	}
	r = r.WithContext(request.With(r.Context(), info))
	if refused == nil {
		refused = d.place(t, r)
	}
	if refused != nil {
		envelope.From(r.Context(), d.log, refused).Write(t)
		return
	}
	d.next.ServeHTTP(t, r)
	if t.dropped {
		d.again(t, r)
	}
}

// tell says in the log, and to whoever exports it, that a request has been answered.
func (d *door) tell(w *tracked, r *http.Request, info request.Info, start time.Time) {
	s := request.Served{Info: info, Method: request.Method(r.Method), Route: request.Route(r.Pattern), Status: w.status, Start: start, End: d.clock.Now()}
	d.log.LogAttrs(request.With(r.Context(), info), slog.LevelInfo, request.EventName, s.Attrs()...)
	if d.served != nil {
		d.served(s)
	}
}

// again answers a request anew whose subject was not found while the read models were
// behind: it may be in the log. It waits for them, and says so if that takes too long.
func (d *door) again(t *tracked, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), d.wait)
	defer cancel()
	head, err := d.head(ctx)
	if err == nil {
		err = d.models.WaitFor(ctx, head, modelsOf(r)...)
	}
	t.late, t.dropped = false, false
	if err != nil {
		t.Header().Set("Retry-After", "1")
		envelope.From(r.Context(), d.log, envelope.New(http.StatusServiceUnavailable, envelope.TypeUnavailable,
			"it is not in the read models, which are behind the log at the moment; try again")).Write(t)
		return
	}
	d.next.ServeHTTP(t, r)
}

// readable reports whether path and query hold only what a database takes as text.
func readable(r *http.Request) bool {
	query, err := url.QueryUnescape(r.URL.RawQuery)
	text := r.URL.Path + query
	return err == nil && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// modelsOf are the read models that answer a request; none stands for all.
func modelsOf(r *http.Request) []string {
	switch {
	case strings.HasPrefix(r.URL.Path, v1.Base+"/usage/"):
		return []string{usage.Name}
	case strings.HasPrefix(r.URL.Path, v1.Base+"/audit/events"):
		return []string{audit.Name}
	case strings.HasPrefix(r.URL.Path, v1.Base+"/agent-presets"):
		return []string{presets.Name}
	case strings.HasPrefix(r.URL.Path, v1.Base+"/system/projections"):
		return nil
	}
	return []string{runs.Name}
}

// place says in the answer which position the read models have reached, after
// waiting for the one that the request demands.
func (d *door) place(w *tracked, r *http.Request) *envelope.Error {
	demanded := r.Header.Get(minPositionHeader)
	if demanded == "" && r.URL.RawQuery != "" {
		demanded = r.URL.Query().Get(minPositionQuery)
	}
	if demanded != "" {
		position, err := strconv.ParseInt(demanded, 10, 64)
		if err != nil || position < 0 {
			return envelope.New(http.StatusBadRequest, envelope.TypeInvalid, minPositionHeader+" must be a non-negative integer")
		}
		ctx, cancel := context.WithTimeout(r.Context(), d.wait)
		defer cancel()
		if d.models.WaitFor(ctx, position, modelsOf(r)...) != nil {
			w.Header().Set("Retry-After", "1")
			return envelope.New(http.StatusServiceUnavailable, envelope.TypeUnavailable, "the read models have not reached position "+demanded+" yet")
		}
	} else {
		w.late = !d.freshen(r)
	}
	if position, err := d.models.Position(modelsOf(r)...); err == nil {
		w.Header().Set(positionHeader, strconv.FormatInt(position, 10))
	}
	return nil
}

// freshMax is how long a read waits for what the log held when it came.
const freshMax = 50 * time.Millisecond

// freshen lets a read see what its caller may have seen in a feed: the feeds come
// from the log, and the read models follow it some milliseconds behind. If they take
// longer, the answer is what there is, and says so by its position. It reports whether
// the read models have all that the log held.
func (d *door) freshen(r *http.Request) bool {
	fromLog := strings.HasSuffix(r.URL.Path, "/events") && !strings.HasPrefix(r.URL.Path, v1.Base+"/audit/")
	if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, v1.Base+"/") || fromLog {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), freshMax)
	defer cancel()
	head, err := d.head(ctx)
	return err == nil && d.models.WaitFor(ctx, head, modelsOf(r)...) == nil
}

// recover turns a panic into an answer, or into a broken connection if an answer has
// already begun. One bad request must not end the server.
func (d *door) recover(w *tracked, r *http.Request, info request.Info) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
		panic(cause)
	}
	d.log.ErrorContext(r.Context(), "request panicked", "request_id", info.ID, "method", r.Method, "path", r.URL.Path,
		"panic", cause, "stack", string(debug.Stack()))
	if w.began {
		panic(http.ErrAbortHandler)
	}
	e := envelope.New(http.StatusInternalServerError, envelope.TypeInternal, "internal error")
	e.Body.RequestID = info.ID
	e.Write(w)
}

// tracked knows whether the answer has begun.
type tracked struct {
	http.ResponseWriter
	began  bool
	status int // of the answer; 0 before it begins

	late    bool // the read models lack something that the log holds, so a "not found" may not be true
	dropped bool // such an answer was given, and not sent
}

// WriteHeader begins the answer.
func (t *tracked) WriteHeader(status int) {
	if status == http.StatusNotFound && t.late && !t.began {
		t.dropped = true
		return
	}
	if !t.began && status >= http.StatusOK {
		t.status = status
	}
	t.began = true
	t.ResponseWriter.WriteHeader(status)
}

// Write begins the answer if nothing did before.
func (t *tracked) Write(b []byte) (int, error) {
	if t.dropped {
		return len(b), nil
	}
	if !t.began {
		t.status = http.StatusOK
	}
	t.began = true
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// route answers unknown paths and wrong methods like every other error.
type route struct{ mux *http.ServeMux }

func (m route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, pattern := m.mux.Handler(r)
	if pattern != "" {
		m.mux.ServeHTTP(w, r)
		return
	}
	// The multiplexer answers in plain text. Its verdict and its Allow header count.
	verdict := &verdict{header: http.Header{}}
	h.ServeHTTP(verdict, r)
	if verdict.status == http.StatusNotFound && forPeople(r) {
		console.Nowhere(w, r)
		return
	}
	e := envelope.New(http.StatusNotFound, envelope.TypeNotFound, "there is nothing at this path")
	if verdict.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", verdict.header.Get("Allow"))
		e = envelope.New(verdict.status, envelope.TypeMethod, "this path does not know the method "+strconv.QuoteToASCII(r.Method)+"; see the Allow header")
	}
	e.Body.RequestID = request.From(r.Context()).ID
	e.Write(w)
}

// forPeople reports whether a browser asks for a page, outside of the API.
func forPeople(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path+"/", v1.Base+"/") &&
		strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/html")
}

// verdict catches the status of an answer that nobody sees.
type verdict struct {
	header http.Header
	status int
}

func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) WriteHeader(status int)      { v.status = status }
func (v *verdict) Write(b []byte) (int, error) { return len(b), nil }
