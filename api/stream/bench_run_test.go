package stream_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"hecate/api/apitest"
	"hecate/domain/run"
)

// BenchmarkFollowLongRun counts the bytes that one client gets who follows a run of
// many rounds while it happens. A round takes 50 ms and adds about 1.7 KB.
func BenchmarkFollowLongRun(b *testing.B) {
	for _, rounds := range []int{100, 300} {
		b.Run(fmt.Sprintf("rounds=%d", rounds), func(b *testing.B) {
			for b.Loop() {
				followLongRun(b, rounds)
			}
		})
	}
}

func followLongRun(b *testing.B, rounds int) {
	s := apitest.Start(b, apitest.Options{})
	beginRun(b, s, "t", "r")
	resp, _ := s.Subscribe(b.Context(), b, runStream)
	defer resp.Body.Close()
	go func() {
		version := int64(4)
		for n := range int64(rounds) {
			version = appendRound(b, s.Store, "r", n+1, version)
			time.Sleep(50 * time.Millisecond)
		}
		apitest.Append(b, s.Store, "run-r", run.Finished{FinalStatus: run.StatusCompleted})
	}()
	count := &counter{r: resp.Body}
	frames := apitest.NewStream(count)
	pictures, largest := 0, 0
	for {
		f, err := nextRun(b, frames)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if f.EventType == "snapshot" {
			pictures++
		}
		largest = max(largest, len(f.Data))
	}
	b.ReportMetric(float64(count.n)/1000, "KB")
	b.ReportMetric(float64(count.n)/1000/float64(rounds), "KB/round")
	b.ReportMetric(float64(pictures), "pictures")
	b.ReportMetric(float64(largest)/1000, "KB/largest")
	b.ReportMetric(0, "ns/op")
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
