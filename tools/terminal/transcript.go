package terminal

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"hecate/domain/secret"
	"hecate/tools/process"
)

// RetainedMax is how much of a terminal's output is kept, in bytes.
const RetainedMax = 64 << 10

const stderrMark = "[stderr] "

// transcript is the end of what both streams of a process brought, in order of arrival.
// A line is of one stream: where the other one writes in the middle of a line, it begins
// a line of its own.
type transcript struct {
	tty bool // a terminal device writes \r\n at the ends of lines

	mu      sync.Mutex
	secrets *secret.Stream // withholds what must not be shown: later the text is cut
	kept    []byte
	total   int64  // bytes that there were, with marks
	open    string // the stream of a line that is not ended; "" at the beginning of a line
}

func (t *transcript) write(stream string, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != "" && t.open != stream {
		t.add("\n")
		t.open = ""
	}
	for line := range bytes.Lines(data) {
		if t.open == "" && stream == process.Stderr {
			t.add(stderrMark)
		}
		t.add(string(line))
		t.open = stream
		if line[len(line)-1] == '\n' {
			t.open = ""
		}
	}
	return nil
}

func (t *transcript) add(text string) {
	text = t.secrets.Write(text)
	t.kept = append(t.kept, text...)
	t.total += int64(len(text))
	if len(t.kept) > 2*RetainedMax {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-RetainedMax:]...)
	}
}

func (t *transcript) tail(most int) (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(t.kept[:len(t.kept):len(t.kept)], t.secrets.Rest()...)
	total := t.total + int64(len(all)-len(t.kept))
	end := all[max(0, len(all)-min(most, RetainedMax)):]
	for i := 0; len(end) < int(min(total, RetainedMax)) && i < utf8.UTFMax-1 && len(end) > 0 && !utf8.RuneStart(end[0]); i++ {
		end = end[1:]
	}
	cut = int64(len(end)) < total
	text = strings.ToValidUTF8(string(end), "\uFFFD")
	if t.tty {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text, cut
}

func (t *transcript) withheld() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.secrets.Withheld()
}

func (t *transcript) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}
