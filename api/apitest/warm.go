package apitest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
)

// Warm makes ready what logs share in a process, which is the packing of large texts. A
// test in a bubble of time of its own cannot use what another bubble made: packages
// with such tests call it from TestMain.
func Warm() error {
	ctx := context.Background()
	store, err := sqlite.OpenMemory(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	salt := func() (s [16]byte) { _, _ = rand.Read(s[:]); return s }
	text := event.NewText(strings.Repeat("text ", event.InlineMax))
	enc, err := event.Encode(run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: text}}}, salt)
	if err != nil {
		return err
	}
	_, err = store.Append(ctx, eventstore.Batch{Streams: []eventstore.StreamAppend{{Stream: "run-warm", Events: []eventstore.Event{{
		ID: salt(), Type: enc.Type, Schema: enc.Schema, At: T0, Data: enc.Data, Salt: salt(), Blobs: enc.Blobs,
	}}}}})
	if err != nil {
		return fmt.Errorf("warm up the log: %w", err)
	}
	_, err = store.Blob(ctx, enc.Blobs[0].Digest)
	return err
}
