package stream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
)

// chunk is output of a command: 200 of it are 3 MB.
var chunk = run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: event.NewText(strings.Repeat("0123456789abcdef", 1000))}

// request asks for a stream and reads nothing.
func request(t *testing.T, s *apitest.Server, path string) net.Conn {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answer reads the head of the answer to request.
func answer(t *testing.T, conn net.Conn) *apitest.Stream {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	return apitest.NewStream(resp.Body)
}

// ids are those of the events that a client got. A picture repeats the id before it.
type ids []string

// read goes on until there are n ids, or the stream ends.
func (l *ids) read(frames *apitest.Stream, n int) error {
	for len(*l) < n {
		f, err := frames.Next()
		if err != nil {
			return err
		}
		if f.ID != l.last() {
			*l = append(*l, f.ID)
		}
	}
	return nil
}

func (l *ids) last() string {
	if len(*l) == 0 {
		return ""
	}
	return (*l)[len(*l)-1]
}

// Of twenty clients one stops reading. The others get everything without delay; it is
// cut off after a while, and misses nothing when it comes back with its cursor.
func TestClientThatStopsReading(t *testing.T) {
	for _, path := range []string{events, runStream} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stopReading(t, path) })
		})
	}
}

func stopReading(t *testing.T, path string) {
	const clients, chunks = 19, 200
	s := apitest.Start(t, apitest.Options{Pipes: true})
	beginRun(t, s, "t", "r")
	conn := request(t, s, path)
	defer conn.Close()
	stuck := answer(t, conn)
	var got ids
	if err := got.read(stuck, 3); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, clients)
	for range clients {
		resp, frames := s.Subscribe(t.Context(), t, path)
		defer resp.Body.Close()
		go func() { done <- new(ids).read(frames, 4+chunks) }()
	}
	began := time.Now()
	for range chunks {
		apitest.Append(t, s.Store, "run-r", chunk)
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("the others waited %v", d)
	}
	time.Sleep(11 * time.Second)
	if got.read(stuck, 4+chunks) == nil {
		t.Error("the client that stopped reading was not cut off")
	}
	resp, frames := s.Subscribe(t.Context(), t, path, "Last-Event-ID", got.last())
	defer resp.Body.Close()
	if err := got.read(frames, 4+chunks); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(sequences(3, 4+chunks), got); diff != "" {
		t.Error(diff)
	}
}

// sequences are n ids in a row.
func sequences(first, n int) (out ids) {
	for i := range n {
		out = append(out, fmt.Sprint(first+i))
	}
	return out
}

// A client that reads slowly is served slowly. It is not cut off in the midst of an
// event that it cannot take within the time for one write: it would never get past it.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		apitest.Append(t, s.Store, "run-r", run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: event.NewText(strings.Repeat("x", 1<<20))})
		resp, _ := s.Subscribe(t.Context(), t, events+"?after_sequence=6")
		defer resp.Body.Close()
		began := time.Now()
		f, err := apitest.NewStream(&trickle{resp.Body, 16 << 10}).Next()
		if err != nil || len(f.Data) < 1<<20 || time.Since(began) < 30*time.Second {
			t.Errorf("after %v: %v, %d bytes", time.Since(began), err, len(f.Data))
		}
	})
}

// trickle reads so many bytes a second.
type trickle struct {
	io.Reader
	rate int
}

func (r *trickle) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	time.Sleep(time.Second * time.Duration(n) / time.Duration(r.rate))
	return n, err
}

// What is kept for clients that do not read is bounded, however much happens.
func TestStuckClientsHoldLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		var held []int
		for range 6 {
			for range 4 { // each stops somewhere else
				defer request(t, s, events+"?after_sequence=6").Close()
			}
			for range 500 { // 8 MB, and as much for their frames
				apitest.Append(t, s.Store, "run-r", chunk)
			}
			synctest.Wait()
			held = append(held, heap())
		}
		if slices.Max(held) > 64 { // of 96
			t.Errorf("MB in use: %v", held)
		}
	})
}

// heap is how many MB are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}
