package model

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type readEvent struct {
	Name, Data string
	Cut        bool
}

func readEvents(r io.Reader) ([]readEvent, error) {
	var out []readEvent
	events := newSSEReader(r)
	for {
		ev, err := events.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, readEvent{ev.name, string(ev.data), ev.cut})
	}
}

func TestEvents(t *testing.T) {
	cases := map[string]struct {
		stream string
		want   []readEvent
	}{
		"line ends":        {"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\n", []readEvent{{Data: "a"}, {Data: "b"}, {Data: "c"}, {Data: "d"}}},
		"several lines":    {"data: a\ndata:\ndata: b\n\n", []readEvent{{Data: "a\n\nb"}}},
		"optional space":   {"data:a\n\ndata:  b\n\n", []readEvent{{Data: "a"}, {Data: " b"}}},
		"mark":             {"\ufeffdata: a\n\n\ufeffdata: b\n\n", []readEvent{{Data: "a"}}},
		"comments":         {": x\n\n:\ndata: a\n: y\n\n", []readEvent{{Data: "a"}}},
		"fields":           {"id: 1\nretry: 5\nevent: e\ndata: a\n\ndata: b\n\n", []readEvent{{Name: "e", Data: "a"}, {Data: "b"}}},
		"name without":     {"event: e\n\ndata: a\n\n", []readEvent{{Data: "a"}}},
		"bare field":       {"data\n\n", []readEvent{{Data: ""}}},
		"open at the end":  {"data: a\n\ndata: b\n", []readEvent{{Data: "a"}, {Data: "b", Cut: true}}},
		"half a line":      {"data: a\n\ndata: {\"b", []readEvent{{Data: "a"}, {Data: "{\"b", Cut: true}}},
		"nothing":          {"", nil},
		"only blank lines": {"\n\r\n\r", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
				got, err := readEvents(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// An event comes out as soon as its blank line is there, also behind a bare CR.
func TestEventIsNotHeldBack(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write([]byte("data: a\r\r")) }() // nothing follows
	ev, err := newSSEReader(in).next()
	if err != nil || string(ev.data) != "a" {
		t.Errorf("got %q, %v", ev.data, err)
	}
}

func TestEventLimit(t *testing.T) {
	for name, stream := range map[string]string{
		"one line":      "data: " + strings.Repeat("x", 1001) + "\n\n",
		"several lines": strings.Repeat("data: xxxxxxxxx\n", 101) + "\n",
		"without end":   strings.Repeat("x", 20_000),
	} {
		events := newSSEReader(strings.NewReader(stream))
		events.eventMax = 1000
		if _, err := events.next(); !errors.Is(err, errEventTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("\ufeffdata: a\r\n\r\n: c\rdata:b\n\nevent: x\ndata: y"), 3)
	f.Add([]byte("data\n\r\n\rdata: \n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		whole, err := readEvents(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(stream)), &pieceReader{stream, max(1, size%64)}} {
			cut, err := readEvents(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, cut); diff != "" {
				t.Errorf("cutting changes the events:\n%s", diff)
			}
		}
	})
}

// pieceReader gives out a few bytes at a time.
type pieceReader struct {
	rest []byte
	size int
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
