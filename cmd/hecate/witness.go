package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	witnessEvery   = 10 * time.Second // at most so often
	witnessPause   = time.Second      // after the first failure; then twice as long each time
	witnessPauseTo = time.Minute
	witnessTimeout = 10 * time.Second // of one request
	witnessLast    = 3 * time.Second  // for the last one, when the server ends
)

// witness keeps checkpoints elsewhere: it appends them to a file, or sends them to an address.
type witness struct {
	target string
	log    *slog.Logger
	client *http.Client
	newest chan []byte // one, which a newer one replaces
}

func newWitness(target string, log *slog.Logger) *witness {
	return &witness{target: target, log: log, client: &http.Client{Timeout: witnessTimeout}, newest: make(chan []byte, 1)}
}

// tell hands over a checkpoint, and returns at once.
func (w *witness) tell(checkpoint []byte) {
	for {
		select {
		case w.newest <- checkpoint:
			return
		default:
		}
		select {
		case <-w.newest: // nobody needs it any more
		default:
		}
	}
}

// run keeps what it is told until ctx ends. What cannot be kept is tried again, or replaced by
// a newer checkpoint, which proves all that it proves.
func (w *witness) run(ctx context.Context) error {
	pause := witnessPause
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-w.newest:
			next := witnessEvery
			if err := w.keep(ctx, c); err != nil {
				if ctx.Err() == nil {
					w.log.Warn("the witness has not taken a checkpoint", "witness", w.name(), "error", err)
				}
				next, pause = pause, min(2*pause, witnessPauseTo)
				w.again(c)
			} else {
				pause = witnessPause
			}
			select {
			case <-ctx.Done():
			case <-time.After(next):
			}
		}
	}
}

// again puts a checkpoint back, unless there is a newer one.
func (w *witness) again(checkpoint []byte) {
	select {
	case w.newest <- checkpoint:
	default:
	}
}

// finish keeps the last one that run has left.
func (w *witness) finish(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), witnessLast)
	defer stop()
	select {
	case c := <-w.newest:
		if err := w.keep(ctx, c); err != nil {
			w.log.Warn("the witness has not taken the last checkpoint", "witness", w.name(), "error", err)
		}
	default:
	}
}

// name is the target without what may be a secret in it.
func (w *witness) name() string {
	name, _, _ := strings.Cut(w.target, "?")
	if at := strings.LastIndexByte(name, '@'); at >= 0 && w.remote() {
		scheme, _, _ := strings.Cut(name, "://")
		return scheme + "://" + name[at+1:]
	}
	return name
}

func (w *witness) remote() bool {
	return strings.HasPrefix(w.target, "http://") || strings.HasPrefix(w.target, "https://")
}

func (w *witness) keep(ctx context.Context, checkpoint []byte) error {
	if w.remote() {
		return w.send(ctx, checkpoint)
	}
	f, err := os.OpenFile(w.target, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(bytes.Clone(checkpoint), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (w *witness) send(ctx context.Context, checkpoint []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.target, bytes.NewReader(checkpoint))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := w.client.Do(req)
	if err != nil {
		var failed *url.Error // which repeats the address
		if errors.As(err, &failed) {
			return failed.Err
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}
