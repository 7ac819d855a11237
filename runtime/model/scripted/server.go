package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"hecate/domain/clock"
)

// requestsKept is how many requests are remembered; older ones are forgotten.
const requestsKept = 4096

// bodyMax is the largest request body that is accepted.
const bodyMax = 256 << 20

// Request is what the server was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	Time   time.Time
	Script string // marker of the script that answered
	Reply  int    // number of the reply in that script, -1 if a rule answered
}

// Server answers from scripts. Set the fields before it serves. It is an
// http.Handler; Start runs it on an address of its own.
type Server struct {
	Models     []string      // what /v1/models lists; default: ModelName
	ChunkRunes int           // characters per streamed piece; default 12
	ChunkDelay time.Duration // between streamed pieces; with 0 they are not flushed one by one
	// Rule looks at every request first. A reply that is not nil is sent, and no script moves on.
	Rule func(Request) *Reply

	mu       sync.Mutex
	scripts  []Script
	next     []int // reply to give next, by script
	requests []Request
	count    int
}

// New returns a server that answers from the scripts, the first that matches.
func New(scripts ...Script) *Server {
	return &Server{scripts: scripts, next: make([]int, len(scripts))}
}

// Replies returns a server with one script: the replies, one by one, to whoever asks.
func Replies(replies ...Reply) *Server {
	return New(Script{Replies: replies})
}

// Requests returns the model calls so far, oldest first; only the newest 4096 are kept.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count returns how many model calls came in so far.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// ServeHTTP answers model calls and the list of models, with or without /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Scripted-Model", "true")
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		s.listModels(w)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		s.call(w, r, openAI{})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages"):
		s.call(w, r, anthropic{})
	default:
		sendError(w, http.StatusNotFound, "the scripted model does not serve this path")
	}
}

func (s *Server) listModels(w http.ResponseWriter) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := []entry{}
	for _, name := range s.models() {
		list = append(list, entry{ID: name, Object: "model", OwnedBy: "scripted"})
	}
	sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

func (s *Server) models() []string {
	if len(s.Models) > 0 {
		return s.Models
	}
	return []string{ModelName}
}

// asked is what a reply depends on.
type asked struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role string `json:"role"`
	} `json:"messages"`
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, d dialect) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		sendError(w, http.StatusBadRequest, "the request body cannot be read")
		return
	}
	var q asked
	if err := json.Unmarshal(body, &q); err != nil {
		sendError(w, http.StatusBadRequest, "the request body is no JSON: "+err.Error())
		return
	}
	if q.Model == "" {
		q.Model = s.models()[0]
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Time: clock.System{}.Now()}
	reply := s.reply(&req, q)
	out := &output{w: w, server: s, ctx: r.Context()}
	err = out.send(reply, q, d)
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the way to cut a connection
	}
}

// reply picks the reply and remembers the request.
func (s *Server) reply(req *Request, q asked) Reply {
	if s.Rule != nil {
		if refused := s.Rule(*req); refused != nil {
			req.Reply = -1
			s.remember(*req)
			return *refused
		}
	}
	s.mu.Lock()
	i := s.match(req.Body)
	if i < 0 {
		s.mu.Unlock()
		req.Reply = -1
		s.remember(*req)
		return refusal("no script matches this conversation")
	}
	script := s.scripts[i]
	n := s.next[i]
	s.next[i]++
	s.mu.Unlock()
	if script.ByTurn {
		n = q.turns()
	}
	req.Script, req.Reply = script.Marker, n
	s.remember(*req)
	return script.reply(n, *req)
}

func (s *Server) match(body []byte) int {
	for i, script := range s.scripts {
		if bytes.Contains(body, []byte(script.Marker)) {
			return i
		}
	}
	return -1
}

func (s *Server) remember(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.requests) == requestsKept {
		s.requests = append(s.requests[:0:0], s.requests[requestsKept/2:]...)
	}
	s.requests = append(s.requests, r)
}

func (q asked) turns() int {
	n := 0
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func (s Script) reply(n int, r Request) Reply {
	switch {
	case s.Func != nil:
		return s.Func(n, r)
	case n < len(s.Replies):
		return s.Replies[n]
	case s.Repeat && len(s.Replies) > 0:
		return s.Replies[n%len(s.Replies)]
	}
	return refusal(fmt.Sprintf("the script has only %d replies", len(s.Replies)))
}
