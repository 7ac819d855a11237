package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
)

// assembler puts an answer together, in either dialect.
type assembler interface {
	// event takes one event of a stream. done reports that the end marker came.
	event(ev sseEvent) (done bool, failure *Error)
	// whole takes an answer that came in one piece.
	whole(body []byte) *Error
	// finish returns the complete answer, or why it is none.
	finish() (*Response, *Error)
	// partial is the text so far.
	partial() string
}

// read feeds the answer to the assembler and returns the complete response.
func (e Endpoint) read(ctx context.Context, a *answer, asked bool, to assembler) (*Response, error) {
	streamed, err := a.streamed(asked)
	var begun bool
	var failure *Error
	switch {
	case err != nil:
		failure = invalid(err)
	case streamed:
		begun, failure = feed(ctx, newSSEReader(a.Body), to)
	default:
		begun, failure = readWhole(ctx, a, to)
	}
	var resp *Response
	if failure == nil {
		resp, failure = to.finish()
	}
	if failure != nil {
		a.drop()
		failure.Partial, failure.Begun = to.partial(), begun
		if failure.Status == 0 {
			failure.Status = a.StatusCode
		}
		return nil, e.clean(failure)
	}
	a.close()
	noted := quirks(resp.Quirks)
	noted.note(QuirkNotStreamed, asked && !streamed)
	noted.note(QuirkStreamed, streamed && !asked)
	resp.Quirks = noted
	return resp, nil
}

// feed stops at the end marker, at a failure and at the end of the
// stream, and reports whether any of the answer had arrived: comments, pings and
// a failure told in the stream are nothing of it. A broken connection is no
// failure here: whether the answer was complete before is the assembler's to say.
func feed(ctx context.Context, events *sseReader, to assembler) (begun bool, failure *Error) {
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLarge), errors.Is(err, errStreamTooLarge):
			return true, invalid(err)
		case err != nil && ctx.Err() != nil:
			return begun || ev.cut, canceled(ctx.Err())
		case err != nil:
			return begun || ev.cut, nil
		case ev.cut && string(bytes.TrimSpace(ev.data)) != doneMarker && !json.Valid(ev.data):
			return true, nil // half an event says nothing but that there was one
		}
		done, failure := to.event(ev)
		begun = begun || (failure == nil && ev.name != "ping")
		if done || failure != nil {
			return begun, failure
		}
	}
}

// readWhole takes an answer in one piece, and reports whether any of it had arrived.
func readWhole(ctx context.Context, a *answer, to assembler) (begun bool, failure *Error) {
	body, err := io.ReadAll(io.LimitReader(a.Body, AnswerBytesMax+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return len(body) > 0, canceled(ctx.Err())
	case err != nil:
		return len(body) > 0, &Error{Kind: IncompleteStream, Message: "the connection broke in the middle of the answer", Retryable: true, Cause: err}
	case len(body) > AnswerBytesMax:
		return true, invalid(fmt.Errorf("the answer is larger than %d MiB", AnswerBytesMax>>20))
	}
	return false, to.whole(bytes.TrimPrefix(body, byteOrderMark))
}

// invalid is the failure of an answer that nobody can read.
func invalid(err error) *Error {
	return &Error{Kind: InvalidResponse, Message: err.Error(), Cause: err}
}

// incomplete is the failure of a stream without an end marker.
func incomplete() *Error {
	return &Error{Kind: IncompleteStream, Message: "the stream ended before the answer was complete", Retryable: true}
}

// streamed reports whether the answer is a stream. What was asked for does not
// decide: some servers cannot stream, and some always do.
func (a *answer) streamed(asked bool) (bool, error) {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return asked, nil
	case media == "application/json":
		return false, nil
	case media == "text/event-stream":
		return true, nil
	case media == "text/html":
		return false, errors.New("the endpoint answered with a web page")
	}
	return asked, nil
}
