package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections/forward"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/webhook"
)

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

// planted stands wherever a model, a tool or a person writes.
const planted = "planted-5511"

var key = []byte("0123456789abcdef0123456789abcdef")

// call is a request that a receiver got.
type call struct {
	header http.Header
	raw    string
	body   map[string]any
}

// receiver answers calls in the way that it is told, and verifies them by itself.
type receiver struct {
	*httptest.Server
	t      testing.TB
	mu     sync.Mutex
	calls  []call
	answer func(n int, w http.ResponseWriter) // nil for success; n counts from 1
}

func receive(t testing.TB, answer func(int, http.ResponseWriter)) *receiver {
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(request.Body)
		c := call{header: request.Header, raw: string(raw)}
		if err != nil || json.Unmarshal(raw, &c.body) != nil || request.Method != http.MethodPost {
			t.Errorf("%s %q, %v", request.Method, raw, err)
		}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		n := len(r.calls)
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(n, w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// verify checks a signature as a receiver would: with nothing of ours.
func verify(c call, at time.Time) error {
	id, seconds := c.header.Get("webhook-id"), c.header.Get("webhook-timestamp")
	if seconds != strconv.FormatInt(at.Unix(), 10) {
		return fmt.Errorf("the time is %q", seconds)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, seconds, c.raw)
	for one := range strings.SplitSeq(c.header.Get("webhook-signature"), " ") {
		version, text, _ := strings.Cut(one, ",")
		sum, err := base64.StdEncoding.DecodeString(text)
		if err == nil && version == "v1" && hmac.Equal(sum, mac.Sum(nil)) {
			return nil
		}
	}
	return fmt.Errorf("%q is not the signature", c.header.Get("webhook-signature"))
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)

type sending struct {
	log    *projectiontest.Log
	sender *forward.Sender
	text   *bytes.Buffer // of the process's log; read it after stop
	stop   func()
}

// send follows a log that has one old run, and calls the receiver.
func send(t testing.TB, where string, messages ...string) *sending {
	t.Helper()
	u, err := url.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(key))
	if err != nil {
		t.Fatal(err)
	}
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &sending{log: projectiontest.New(t), text: &bytes.Buffer{}}
	s.log.Add("run-old", run.Created{TaskID: "task_old"}, run.Finished{FinalStatus: run.StatusCompleted})
	logger := slog.New(slog.NewTextHandler(s.text, nil))
	hook := webhook.New(webhook.Config{URL: u, Secret: secret, Messages: messages, Console: "https://hecate.example/", Log: s.log, Clock: &clock.Fixed{T: now}, Logger: logger})
	s.sender, err = forward.New(t.Context(), forward.Config{
		Name: webhook.Name(u), FromNow: true, Log: s.log, DB: db, Owner: "a", Logger: logger, RetryFirst: time.Millisecond, RetryMax: 2 * time.Millisecond,
	}, hook)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.sender.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = hook.Close()
	})
	t.Cleanup(s.stop)
	return s
}

// sent waits until everything was sent or given up.
func (s *sending) sent(t testing.TB) forward.Status {
	t.Helper()
	var at forward.Status
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var err error
		if at, err = s.sender.Status(context.Background()); err != nil {
			t.Fatal(err)
		}
		if at.Lag == 0 {
			return at
		}
	}
	t.Fatalf("%+v", at)
	return at
}

// asking is a run that asks, with planted text wherever there is room for text.
func asking(s *sending) {
	text := event.NewText(planted)
	s.log.Add("run-r1", run.Created{TaskID: "task_1", Spec: run.Spec{Prompt: text}},
		run.ModelResponseRecorded{Message: run.Message{Content: text, ToolCalls: []run.ToolCall{{ID: "c1", Name: "shell_exec", Arguments: text}}}},
		run.ApprovalRequested{
			ApprovalID: "approval_1", Kind: run.ApprovalBundle, PolicyReason: planted, Summary: []string{planted}, RememberIn: planted, Place: &run.Place{Path: planted},
			Calls: []run.ApprovalCall{
				{ToolCallID: planted, ToolName: "shell_exec", Ruling: run.Ruling{Decision: "ask", Rule: planted}, Reason: planted, Notes: []string{planted}, Locks: []string{planted}, Program: planted},
				{ToolName: "shell_exec", Ruling: run.Ruling{Decision: "ask"}},
				{ToolName: "read_file", Ruling: run.Ruling{Decision: "allow"}},
				{ToolName: "Bearer " + planted, Ruling: run.Ruling{Decision: "ask"}},
			},
		})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	s := send(t, r.URL, webhook.Types...)
	asking(s)
	s.log.Add("run-r1", run.ApprovalResolved{ApprovalID: "approval_1", Kind: run.ApprovalBundle, Decision: "approved", By: planted, Comment: planted},
		run.Finished{FinalStatus: run.StatusCompleted, ModelCallCount: 2})
	s.log.Add("run-r2", run.Created{TaskID: "task_1"}, run.Failed{Code: "run_failed", Message: planted, Reason: "max_model_calls_exceeded"})
	s.log.Add("run-r3", run.Created{TaskID: "task_1"}, run.Cancelled{By: planted, Reason: planted})
	s.sent(t)
	calls := r.got()
	want := []string{
		`{"approval_id":"approval_1","calls":3,"kind":"agent_loop_tool_call","tools":["shell_exec","other"],"type":"approval.waiting"} r1`,
		`{"approval_id":"approval_1","decision":"approved","kind":"agent_loop_tool_call","type":"approval.resolved"} r1`,
		`{"model_calls":2,"status":"completed","type":"run.ended"} r1`,
		`{"model_calls":0,"reason":"max_model_calls_exceeded","status":"failed","type":"run.ended"} r2`,
		`{"status":"cancelled","type":"run.ended"} r3`,
	}
	if len(calls) != len(want) {
		t.Fatalf("%d calls", len(calls))
	}
	records := s.log.Records()
	for i, c := range calls {
		if err := verify(c, now); err != nil {
			t.Error(err)
		}
		id, runID := c.body["id"], fmt.Sprint(c.body["run_id"])
		about := records[int(c.body["sequence"].(float64))-1]
		if id != c.header.Get("webhook-id") || !strings.HasPrefix(fmt.Sprint(id), "evt_") || c.body["task_id"] != "task_1" || about.Stream != "run-"+runID ||
			c.body["url"] != "https://hecate.example/tasks/task_1/runs/"+runID || !strings.HasPrefix(fmt.Sprint(c.body["occurred_at"]), "2026-03-01T12:00:00.") {
			t.Errorf("%s", c.raw)
		}
		if strings.Contains(c.raw, planted) {
			t.Errorf("it shows what it should not: %s", c.raw)
		}
		for _, name := range []string{"id", "task_id", "run_id", "sequence", "url", "occurred_at"} {
			delete(c.body, name)
		}
		rest, err := json.Marshal(c.body)
		if got := string(rest) + " " + runID; err != nil || got != want[i] {
			t.Errorf("%s\nwant %s", got, want[i])
		}
	}
}

// Unless others are named, answers to approvals call nobody, and neither does what is older
// than the first start.
func TestUsualMessages(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	s := send(t, r.URL)
	asking(s)
	s.log.Add("run-r1", run.ApprovalResolved{ApprovalID: "approval_1"}, run.Finished{})
	s.sent(t)
	var types []string
	for _, c := range r.got() {
		types = append(types, fmt.Sprint(c.body["type"]))
	}
	if strings.Join(types, " ") != "approval.waiting run.ended" {
		t.Error(types)
	}
}

// A message that was refused comes again, the same under the same id.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	r := receive(t, func(n int, w http.ResponseWriter) {
		if n < 4 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := send(t, r.URL)
	asking(s)
	s.log.Add("run-r1", run.Finished{})
	at := s.sent(t)
	calls := r.got()
	if len(calls) != 5 || at.Messages != 2 || at.GivenUp != 0 || at.Trouble != "" {
		t.Fatalf("%d calls, %+v", len(calls), at)
	}
	for _, c := range calls[1:4] {
		if c.raw != calls[0].raw || c.header.Get("webhook-id") != calls[0].header.Get("webhook-id") {
			t.Errorf("%s, then %s", calls[0].raw, c.raw)
		}
	}
}

// What is refused for good is given up, and then the next message gets one attempt; the
// first success ends that.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	r := receive(t, func(n int, w http.ResponseWriter) {
		if n <= 7 || n > 8 && n <= 10 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := send(t, r.URL)
	for _, id := range []string{"a", "b"} {
		s.log.Add("run-"+id, run.Created{TaskID: "task_1"}, run.Finished{})
	}
	at := s.sent(t)
	if n := len(r.got()); n != 7 || at.GivenUp != 2 || at.Messages != 0 || !strings.Contains(at.Trouble, "503") {
		t.Fatalf("%d calls, %+v", n, at)
	}
	s.log.Add("task-1", run.TaskUpdated{}) // of no interest, and so no sign of health
	if at = s.sent(t); at.Trouble == "" {
		t.Error("the trouble is over though nothing was accepted")
	}
	for _, id := range []string{"c", "d"} {
		s.log.Add("run-"+id, run.Created{TaskID: "task_1"}, run.Finished{})
	}
	at = s.sent(t)
	if n := len(r.got()); n != 11 || at.GivenUp != 2 || at.Messages != 2 || at.Trouble != "" {
		t.Fatalf("%d calls, %+v", n, at)
	}
	s.stop()
	if n := strings.Count(s.text.String(), "gave up"); n != 2 || strings.Contains(s.text.String(), "/secret") {
		t.Errorf("%s", s.text)
	}
}

// Where the path or the query is the secret, it shows nowhere; redirects are not followed.
func TestRedirectsAndSecretPaths(t *testing.T) {
	t.Parallel()
	other := receive(t, nil)
	r := receive(t, func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	u, err := url.Parse(r.URL + "/" + planted + "?token=" + planted)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", planted)
	s := send(t, u.String())
	s.log.Add("run-a", run.Created{TaskID: "task_1"}, run.Finished{})
	at := s.sent(t)
	r.Close() // nobody answers
	s.log.Add("run-b", run.Created{TaskID: "task_1"}, run.Finished{})
	refused := s.sent(t)
	s.stop()
	if at.GivenUp != 1 || !strings.Contains(at.Trouble, "307") || refused.GivenUp != 2 || len(other.got()) > 0 {
		t.Errorf("%+v, %+v, %d calls elsewhere", at, refused, len(other.got()))
	}
	if all := fmt.Sprint(at, refused, s.text); strings.Contains(all, planted) {
		t.Error(all)
	}
}

// A receiver that says that it is gone is not asked again about the same.
func TestGone(t *testing.T) {
	t.Parallel()
	r := receive(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusGone) })
	s := send(t, r.URL)
	s.log.Add("run-a", run.Created{TaskID: "task_1"}, run.Finished{})
	if at := s.sent(t); at.GivenUp != 1 || len(r.got()) != 1 {
		t.Errorf("%+v, %d calls", at, len(r.got()))
	}
}

// An event of a version that this build does not know still calls.
func TestUnknownSchema(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	s := send(t, r.URL)
	s.log.Add("run-a", run.Created{TaskID: "task_1"})
	e := s.log.Event("run.finished", []byte(`{"what":"`+planted+`"}`))
	e.Schema = 99
	s.log.Raw("run-a", e)
	s.sent(t)
	if calls := r.got(); len(calls) != 1 || calls[0].body["task_id"] != "task_1" || strings.Contains(calls[0].raw, planted) {
		t.Errorf("%v", calls)
	}
}

// The example of the specification, which its libraries are tested with.
func TestSignature(t *testing.T) {
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := secret.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
	if shown := fmt.Sprintf("%v %+v %#v", secret, secret, secret); strings.Contains(shown, "MfKQ") || strings.Contains(shown, "49") {
		t.Error(shown)
	}
}

func TestParseSecret(t *testing.T) {
	for text, good := range map[string]bool{
		"": false, "short": false, strings.Repeat("x", 24): true, strings.Repeat("x", 65): false, " " + strings.Repeat("x", 30) + "\n": true,
		"whsec_" + strings.Repeat("!", 40): false, "whsec_AAAA": false, "whsec_" + base64.StdEncoding.EncodeToString(key): true,
	} {
		if _, err := webhook.ParseSecret(text); (err == nil) != good || err != nil && len(text) > 5 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
