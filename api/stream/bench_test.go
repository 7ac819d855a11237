package stream_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
)

// BenchmarkFanOut measures how long an event takes from before its append to every
// one of many clients, which share the machine with the server.
func BenchmarkFanOut(b *testing.B) {
	for _, clients := range []int{100, 1000} {
		for _, perSecond := range []int{50, 200, 500} {
			b.Run(fmt.Sprintf("clients=%d/rate=%d", clients, perSecond), func(b *testing.B) {
				fanOut(b, clients, perSecond, events+"?after_sequence=1", run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: event.NewText(strings.Repeat("x", 300))})
			})
		}
	}
}

// BenchmarkRunFanOut is BenchmarkFanOut with clients that all follow one run.
func BenchmarkRunFanOut(b *testing.B) {
	for _, clients := range []int{100, 1000} {
		b.Run(fmt.Sprintf("clients=%d/rate=50", clients), func(b *testing.B) {
			fanOut(b, clients, 50, runStream+"?after_sequence=6", run.TaskUpdated{})
		})
	}
}

// fanOut appends b.N events of a run at a rate while clients follow a path.
func fanOut(b *testing.B, clients, perSecond int, path string, payload event.Payload) {
	s := apitest.Start(b, apitest.Options{})
	beginRun(b, s, "t", "r")
	sent := make([]time.Time, b.N)
	delays := make([][]time.Duration, clients)
	var ready, done sync.WaitGroup
	for i := range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		ready.Add(1)
		done.Go(func() {
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				panic(fmt.Sprint(resp, err))
			}
			lines := bufio.NewScanner(resp.Body)
			for n := 0; n < b.N && lines.Scan(); {
				switch line := lines.Bytes(); {
				case bytes.HasPrefix(line, []byte(": ok")):
					ready.Done()
				case bytes.HasPrefix(line, []byte("data: ")) && bytes.Contains(line, []byte(payload.EventType())):
					delays[i] = append(delays[i], time.Since(sent[n]))
					n++
				}
			}
		})
	}
	ready.Wait()
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		sent[i] = time.Now()
		apitest.Append(b, s.Store, "run-r", payload)
	}
	done.Wait()
	all := slices.Concat(delays...)
	slices.Sort(all)
	if len(all) != clients*b.N {
		b.Fatalf("%d of %d events arrived", len(all), clients*b.N)
	}
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
