package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"

	"hecate/api/feed"
	"hecate/domain/clock"
	"hecate/domain/ident"
	"hecate/domain/secret"
	"hecate/eventstore"
	"hecate/projections/forward"
	"hecate/projections/forward/jetstream"
	"hecate/projections/forward/kafka"
	"hecate/projections/runner"
	"hecate/projections/webhook"
)

// outboundSettings says where events go.
type outboundSettings struct {
	Targets  []forward.Target // brokers
	Receiver *url.URL         // of webhooks; nil for none
	Secret   webhook.Secret
	Messages []string // types that the receiver gets; nil for the usual ones
}

// readOutbound reads HECATE_FORWARD_URL and HECATE_WEBHOOK_….
func readOutbound(values map[string]string) (s outboundSettings, problems []error) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	var err error
	if s.Targets, err = forward.ParseTargets(values["HECATE_FORWARD_URL"]); err != nil {
		add("HECATE_FORWARD_URL: %w", err)
	}
	for _, t := range s.Targets {
		for _, path := range []string{t.Creds, t.CA} {
			if err := readable(path); err != nil {
				add("HECATE_FORWARD_URL: %s: %w", t, err)
			}
		}
	}
	where := values["HECATE_WEBHOOK_URL"]
	if where == "" {
		return s, problems
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" { // the error would show it
		add("HECATE_WEBHOOK_URL is no URL such as https://example.com/hook")
		return s, problems
	}
	s.Receiver = u
	if s.Secret, err = webhookSecret(values); err != nil {
		problems = append(problems, err)
	}
	for _, kind := range strings.FieldsFunc(values["HECATE_WEBHOOK_EVENTS"], func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(webhook.Types, kind) {
			add("HECATE_WEBHOOK_EVENTS: %q is none of %s", kind, strings.Join(webhook.Types, ", "))
		}
		s.Messages = append(s.Messages, kind)
	}
	return s, problems
}

func readable(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// webhookSecret reads the secret from a variable or a file.
func webhookSecret(values map[string]string) (webhook.Secret, error) {
	name, text := "HECATE_WEBHOOK_SECRET", values["HECATE_WEBHOOK_SECRET"]
	path := values["HECATE_WEBHOOK_SECRET_FILE"]
	switch {
	case text != "" && path != "":
		return webhook.Secret{}, errors.New("HECATE_WEBHOOK_SECRET and HECATE_WEBHOOK_SECRET_FILE: set one of them")
	case text == "" && path == "":
		return webhook.Secret{}, errors.New("HECATE_WEBHOOK_URL needs HECATE_WEBHOOK_SECRET or HECATE_WEBHOOK_SECRET_FILE, so that the receiver can tell who calls")
	case path != "":
		raw, err := os.ReadFile(path)
		if err != nil {
			return webhook.Secret{}, fmt.Errorf("HECATE_WEBHOOK_SECRET_FILE: %w", err)
		}
		name, text = "HECATE_WEBHOOK_SECRET_FILE", string(raw)
	}
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		return secret, fmt.Errorf("%s: %w", name, err)
	}
	return secret, nil
}

// outbound is all that a node sends events to.
type outbound struct {
	senders []*forward.Sender
	closers []io.Closer
}

// openOutbound finds the checkpoints of all targets. Whether these can be reached does not
// matter here.
func openOutbound(ctx context.Context, c config, s *stores, baseURL string, log *slog.Logger) (*outbound, error) {
	o := &outbound{}
	owner := ident.New("sender")
	add := func(name string, fromNow bool, sink forward.Sink) error {
		sender, err := forward.New(ctx, forward.Config{Name: name, FromNow: fromNow, Log: s.log, DB: s.views, Owner: owner, Logger: log}, sink)
		if err != nil {
			o.close()
			return fmt.Errorf("send events to %s: %w", name, err)
		}
		o.senders = append(o.senders, sender)
		return nil
	}
	logID, err := s.log.LogID(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range c.Outbound.Targets {
		publisher, err := openPublisher(t)
		if err != nil {
			o.close()
			return nil, fmt.Errorf("send events to %s: %w", t, err)
		}
		o.closers = append(o.closers, publisher)
		if err := add(t.Name(), t.FromNow, forward.NewEvents(presented{feed.NewReader(s.log)}, publisher, t.Topic, logID)); err != nil {
			return nil, err
		}
	}
	if c.Outbound.Receiver != nil {
		hook := newHook(c, s.log, baseURL, log)
		o.closers = append(o.closers, hook)
		if err := add(webhook.Name(c.Outbound.Receiver), true, hook); err != nil { // old news calls nobody
			return nil, err
		}
	}
	return o, nil
}

func openPublisher(t forward.Target) (message.Publisher, error) {
	if t.Kind == forward.KindKafka {
		return kafka.Open(t)
	}
	return jetstream.Open(t), nil
}

func newHook(c config, log webhook.Log, baseURL string, logger *slog.Logger) *webhook.Hook {
	if c.PublicURL != "" {
		baseURL = c.PublicURL
	}
	return webhook.New(webhook.Config{
		URL: c.Outbound.Receiver, Secret: c.Outbound.Secret, Messages: c.Outbound.Messages, Console: baseURL, Log: log, Clock: clock.System{}, Logger: logger,
	})
}

// Run sends until ctx ends.
func (o *outbound) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, s := range o.senders {
		all.Go(func() error { return s.Run(ctx) })
	}
	return all.Wait()
}

// close gives up the connections, when nothing is sent any more.
func (o *outbound) close() {
	for _, c := range o.closers {
		_ = c.Close() // all that counts was acknowledged
	}
	o.closers = nil
}

// presented shows records as the API does.
type presented struct{ reader *feed.Reader }

// Present returns the public events among records.
func (p presented) Present(ctx context.Context, records []eventstore.Record) ([]forward.Event, int, error) {
	items, looked, err := p.reader.Present(ctx, records)
	if err != nil {
		return nil, 0, err
	}
	out := make([]forward.Event, len(items))
	for i, item := range items {
		out[i] = forward.Event{Sequence: item.Sequence, Type: item.Type, JSON: item.JSON()}
	}
	return out, looked, nil
}

// shownModels are the read models, and in their list what follows the log in the same way.
type shownModels struct {
	*runner.Runner
	outbound *outbound
	secrets  *secret.Set // withheld from what a broker or a database says about trouble
}

// Status tells where each read model and each target stands.
func (m shownModels) Status(ctx context.Context) ([]runner.Status, error) {
	out, err := m.Runner.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range m.outbound.senders {
		at, err := s.Status(ctx)
		if err != nil {
			return nil, err
		}
		if at.GivenUp > 0 && at.Trouble != "" {
			at.Trouble = fmt.Sprintf("%d messages were given up: %s", at.GivenUp, at.Trouble)
		}
		out = append(out, runner.Status{Model: at.Name, Version: 1, Generation: 1, Position: at.Position, Lag: at.Lag, Trouble: at.Trouble})
	}
	for i := range out {
		out[i].Trouble, _ = m.secrets.Withhold(out[i].Trouble)
	}
	return out, nil
}
