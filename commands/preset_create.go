package commands

import (
	"context"
	"strings"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/preset"
	"hecate/eventstore"
)

// PresetResult is where a work policy stands after a command. Position is 0 if the
// command had nothing to change.
type PresetResult struct {
	State    preset.State
	Position int64
}

// PresetStream names the stream of a work policy.
func PresetStream(id string) string { return presetPrefix + id }

const presetPrefix = "preset-"

// CreatePreset writes a work policy. Without an id it gets one.
func (x *Executor) CreatePreset(ctx context.Context, m Meta, id string, d preset.Definition) (PresetResult, error) {
	if id = strings.TrimSpace(id); id == "" {
		id = ident.New("prof")
	}
	if err := preset.CheckID(id); err != nil {
		return PresetResult{}, err
	}
	return once(ctx, x, m, x.recallPreset(ctx), func() (PresetResult, error) {
		return x.changePreset(ctx, m, id, func(s preset.State) ([]event.Payload, error) { return preset.Create(s, d) })
	})
}

// changePreset decides on a policy and records what comes of it.
func (x *Executor) changePreset(ctx context.Context, m Meta, id string, decide func(preset.State) ([]event.Payload, error)) (PresetResult, error) {
	return retry(ctx, func() (PresetResult, error) {
		s, version, err := x.loadPreset(ctx, id)
		if err != nil {
			return PresetResult{}, err
		}
		payloads, err := decide(s)
		if err != nil || len(payloads) == 0 {
			return PresetResult{State: s}, err
		}
		events := x.now(version, payloads...)
		done, err := x.append(ctx, m, part{stream: PresetStream(id), expected: version, events: events})
		if err != nil {
			return PresetResult{}, err
		}
		for _, e := range events {
			s.Apply(e)
		}
		return PresetResult{State: s, Position: done.Last}, nil
	})
}

// LoadPreset returns a work policy as it stands, built-in or not. One that does not exist,
// or no longer, is a not-found fault.
func (x *Executor) LoadPreset(ctx context.Context, id string) (preset.State, error) {
	s, _, err := x.loadPreset(ctx, id)
	if err != nil {
		return s, err
	}
	return s, s.Visible()
}

func (x *Executor) loadPreset(ctx context.Context, id string) (preset.State, int64, error) {
	s := preset.New(id)
	if s.BuiltIn || preset.CheckID(id) != nil { // neither has a stream
		return s, 0, nil
	}
	var version int64
	err := x.Load(ctx, PresetStream(id), 0, func(e event.Event) {
		s.Apply(e)
		version = e.Version
	})
	return s, version, err
}

// recallPreset tells where a policy stood after the command whose batch is given.
func (x *Executor) recallPreset(ctx context.Context) func(eventstore.Appended) (PresetResult, error) {
	return func(done eventstore.Appended) (PresetResult, error) {
		id, err := x.subject(ctx, done, presetPrefix)
		if err != nil {
			return PresetResult{}, err
		}
		r := PresetResult{State: preset.New(id), Position: done.Last}
		err = x.Load(ctx, PresetStream(id), 0, upTo(done.Last, r.State.Apply))
		return r, err
	}
}
