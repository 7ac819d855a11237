package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hecate/cmd/hecate/internal/client"
)

// startBroker runs a NATS server with JetStream that asks for a password.
func startBroker(t *testing.T, password string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Username: "hecate", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the broker does not start")
	}
	return s
}

// streamed reads what the stream of our events holds.
func streamed(t *testing.T, s *server.Server, password string) (out []jetstream.Msg) {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL(), nats.UserInfo("hecate", password))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "hecate_events")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(t.Context(), "hecate_events", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range info.State.Msgs {
		m, err := consumer.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// sentAll waits until all targets have everything and returns what is said about them.
func sentAll(t *testing.T, c *client.Client) map[string]client.Projection {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list, err := c.Projections(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, lag := map[string]client.Projection{}, int64(0)
		for _, p := range list {
			if strings.Contains(p.Name, "://") {
				found[p.Name] = p
				lag += p.Lag
			}
		}
		if lag == 0 {
			return found
		}
	}
	t.Fatal("the targets are behind for ever")
	return nil
}

// A run's events reach a broker as the API shows them, and a receiver is called about what
// a person may want to know; nothing that is secret goes along, or into the log.
func TestEventsGoOut(t *testing.T) {
	const password, hookSecret = "planted-broker-3388", "planted-hook-4499-planted-hook"
	broker := startBroker(t, password)
	var mu sync.Mutex
	var called [][]byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasPrefix(r.Header.Get("webhook-signature"), "v1,") {
			t.Errorf("%v, %v", err, r.Header)
		}
		mu.Lock()
		called = append(called, body)
		mu.Unlock()
	}))
	defer receiver.Close()
	at := strings.TrimPrefix(broker.ClientURL(), "nats://")
	o := startObserved(t, "HECATE_FORWARD_URL=nats://hecate:"+password+"@"+at, "HECATE_WEBHOOK_URL="+receiver.URL+"/"+hookSecret,
		"HECATE_WEBHOOK_SECRET="+hookSecret, "HECATE_PUBLIC_URL=https://hecate.example")
	o.work(t, "01")
	c, err := client.New(o.BaseURL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	targets := sentAll(t, c)
	if len(targets) != 2 || targets["nats://"+at+"/hecate.events"].Head == 0 || targets["webhook "+receiver.URL].Head == 0 {
		t.Errorf("%v", targets)
	}
	if _, err := c.RebuildProjections(t.Context(), "nats://"+at+"/hecate.events"); err == nil {
		t.Error("a broker was rebuilt")
	}

	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal(get(t, o.BaseURL()+"/hecate/v1/events?limit=500"), &page); err != nil {
		t.Fatal(err)
	}
	got := streamed(t, broker, password)
	if len(got) != len(page.Data) || len(got) == 0 {
		t.Fatalf("%d messages, %d events", len(got), len(page.Data))
	}
	for i, m := range got {
		if !bytes.Equal(m.Data(), page.Data[i]) {
			t.Errorf("%s\nthe API shows %s", m.Data(), page.Data[i])
		}
	}

	mu.Lock()
	bodies := bytes.Join(called, []byte("\n"))
	mu.Unlock()
	for _, want := range []string{`"type":"approval.waiting"`, `"tools":["shell_exec"]`, `"type":"run.ended"`, `"status":"completed"`, `"url":"https://hecate.example/tasks/task_`} {
		if !bytes.Contains(bodies, []byte(want)) {
			t.Errorf("no %s in:\n%s", want, bodies)
		}
	}
	shown, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	o.end(t)
	for _, secret := range append([]string{password, hookSecret}, planted...) {
		if bytes.Contains(bodies, []byte(secret)) || bytes.Contains(shown, []byte(secret)) {
			t.Errorf("%s shows in:\n%s\n%s", secret, bodies, shown)
		}
	}
	for _, secret := range []string{password, hookSecret, secretKey} {
		if strings.Contains(o.log.String(), secret) {
			t.Errorf("%s is in the log:\n%s", secret, o.log.String())
		}
		for _, m := range got {
			if bytes.Contains(m.Data(), []byte(secret)) {
				t.Errorf("%s goes out in %s", secret, m.Data())
			}
		}
	}
}

func TestOutboundSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("planted-planted-planted-planted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig([]string{
		"HECATE_FORWARD_URL=nats://a,kafka://b/t", "HECATE_WEBHOOK_URL=http://10.0.0.1/x", "HECATE_WEBHOOK_SECRET_FILE=" + file, "HECATE_WEBHOOK_EVENTS=run.ended, approval.resolved",
	})
	if err != nil || len(c.Outbound.Targets) != 2 || c.Outbound.Receiver.Host != "10.0.0.1" || len(c.Outbound.Messages) != 2 {
		t.Errorf("%+v, %v", c.Outbound, err)
	}
	const hook = "HECATE_WEBHOOK_URL=https://planted@h/planted"
	for want, environ := range map[string][]string{
		"HECATE_FORWARD_URL: target 2":                        {"HECATE_FORWARD_URL=nats://a,amqp://planted@b"},
		"HECATE_FORWARD_URL: nats://a:4222/hecate.events: op": {"HECATE_FORWARD_URL=nats://planted@a?creds=/nowhere"},
		"HECATE_WEBHOOK_URL is no URL":                        {"HECATE_WEBHOOK_URL=ftp://planted/x"},
		"HECATE_WEBHOOK_URL needs":                            {hook},
		"set one of them":                                     {hook, "HECATE_WEBHOOK_SECRET=planted-planted-planted-planted", "HECATE_WEBHOOK_SECRET_FILE=" + file},
		"HECATE_WEBHOOK_SECRET: it has 7 bytes":               {hook, "HECATE_WEBHOOK_SECRET=planted"},
		"HECATE_WEBHOOK_SECRET_FILE: open":                    {hook, "HECATE_WEBHOOK_SECRET_FILE=/nowhere"},
		`"run.begun" is none of`:                              {hook, "HECATE_WEBHOOK_SECRET_FILE=" + file, "HECATE_WEBHOOK_EVENTS=run.begun"},
	} {
		if _, err := readConfig(environ); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%v: %v, want %s", environ, err, want)
		}
	}
}

func TestDoctorLooksAtTargets(t *testing.T) {
	away := freeAddress(t)
	receiver := httptest.NewServer(nil)
	defer receiver.Close()
	_, found := doctor(t, "HECATE_FORWARD_URL=nats://me:planted@"+away, "HECATE_WEBHOOK_URL="+receiver.URL+"/planted", "HECATE_WEBHOOK_SECRET=planted-planted-planted-planted")
	if f := found["forward"]; f.Health != wanting || !strings.Contains(f.Text, "cannot be reached") || strings.Contains(f.Text, "planted") {
		t.Errorf("%+v", f)
	}
	if f := found["webhook"]; f.Health != healthy || strings.Contains(f.Text, "planted") {
		t.Errorf("%+v", f)
	}
}

// A running server says how far behind a target is, and why.
func TestTroubleWithTargetsShows(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hecate/v1/system/projections" {
			_, _ = io.WriteString(w, `{"status":"ok"}`)
			return
		}
		_, _ = io.WriteString(w, `{"object":"projections","data":[{"name":"runs","position":9,"head":9},
			{"name":"nats://b:4222/x","position":4,"head":9,"lag":5,"trouble":"no server answers\u001b[2J"}]}`)
	}))
	defer s.Close()
	check(t, succeed(t, "projections", "status", "--server", s.URL), []string{`nats://b:4222/x  4         9     5    0       no server answers\x1b[2J`})

	a, _, _ := testApp(t)
	dir := a.getenv("HECATE_DATA_DIR")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeRuntimeFile(dir, s.URL, strings.TrimPrefix(s.URL, "http://")); err != nil {
		t.Fatal(err)
	}
	_, found := doctor(t, "HECATE_FORWARD_URL=nats://b/x", "HECATE_DATA_DIR="+dir)
	if f := found["forward"]; f.Health != wanting || !strings.Contains(f.Text, "5 events behind: no server answers") {
		t.Errorf("%+v", f)
	}
}
