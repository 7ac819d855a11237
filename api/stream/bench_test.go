package stream_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
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
			b.Run(fmt.Sprintf("clients=%d/rate=%d", clients, perSecond), func(b *testing.B) { fanOut(b, clients, perSecond) })
		}
	}
}

func fanOut(b *testing.B, clients, perSecond int) {
	s := apitest.Start(b, apitest.Options{})
	apitest.Append(b, s.Store, "run-r", run.Created{TaskID: "task_r", Number: 1, Kind: "builtin"})
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
			fmt.Fprintf(conn, "GET %s?after_sequence=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", events)
			lines := bufio.NewScanner(conn)
			for n := 0; n < b.N && lines.Scan(); {
				switch line := lines.Bytes(); {
				case bytes.HasPrefix(line, []byte(": ok")):
					ready.Done()
				case bytes.HasPrefix(line, []byte("data: ")):
					delays[i] = append(delays[i], time.Since(sent[n]))
					n++
				}
			}
		})
	}
	ready.Wait()
	text := event.NewText(strings.Repeat("x", 300))
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		sent[i] = time.Now()
		apitest.Append(b, s.Store, "run-r", run.ShellOutput{ToolCallID: "c", Stream: "stdout", Data: text})
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
