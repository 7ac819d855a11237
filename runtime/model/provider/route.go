package provider

import (
	"context"
	"strings"

	"hecate/domain/fault"
	"hecate/runtime/model"
)

// Route picks who is asked, for what a task requested:
//
//   - provider and model: that provider with that model, listed or not;
//   - a model alone: the first provider that lists it; failing that the only
//     provider there is, or the first whose models nobody knows;
//   - neither: the first provider with a known model, and its first model;
//   - a provider alone is refused with model_not_configured.
//
// Providers are tried cloud first, then local, each by name; those without
// credentials are passed over. Models that are not configured are asked for,
// which can take up to 2 seconds for a provider that does not answer.
func (s *Set) Route(provider, name string) (model.Route, error) {
	provider, name = strings.TrimSpace(provider), strings.TrimSpace(name)
	if provider != "" {
		return s.routeTo(provider, name)
	}
	ready, err := s.ready()
	switch {
	case err != nil:
		return model.Route{}, err
	case name == "":
		return routeDefault(ready)
	}
	return routeModel(ready, name)
}

func (s *Set) routeTo(provider, name string) (model.Route, error) {
	for _, p := range s.all() {
		if key(p.Name) != key(provider) {
			continue
		}
		if err := p.keyMissing(); err != nil {
			return model.Route{}, fault.Unprocessable("credential_missing", "%v", err)
		}
		if name == "" {
			return model.Route{}, fault.Unprocessable("model_not_configured", "provider %s was requested without a model", p.Name)
		}
		return p.route(name), nil
	}
	return model.Route{}, fault.Unavailable("route_impossible", "provider %q is not configured", provider)
}

// ready returns the providers that could be asked; none is an error that says what to do.
func (s *Set) ready() ([]*provider, error) {
	var ready []*provider
	var missing error
	for _, p := range s.all() {
		if err := p.keyMissing(); err == nil {
			ready = append(ready, p)
		} else if missing == nil {
			missing = err
		}
	}
	switch {
	case len(ready) > 0:
		return ready, nil
	case missing != nil:
		return nil, fault.Unprocessable("credential_missing", "%v", missing)
	}
	return nil, fault.Unprocessable("model_not_configured",
		"no model provider is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY or PROVIDER_<NAME>_* variables, or start a local model server")
}

func routeDefault(ready []*provider) (model.Route, error) {
	for _, p := range ready {
		if models := p.models(context.Background(), false); len(models) > 0 {
			return p.route(models[0]), nil
		}
	}
	return model.Route{}, fault.Unprocessable("model_not_configured",
		"no model was requested and no provider lists one: name a model, or set PROVIDER_<NAME>_MODELS")
}

func routeModel(ready []*provider, name string) (model.Route, error) {
	for _, p := range ready {
		if offers(p.Models, name) {
			return p.route(name), nil
		}
	}
	if len(ready) == 1 {
		return ready[0].route(name), nil
	}
	discover(context.Background(), ready, false)
	var open *provider
	for _, p := range ready {
		models, _, _ := p.known()
		if offers(models, name) {
			return p.route(name), nil
		}
		if len(models) == 0 && open == nil {
			open = p
		}
	}
	if open != nil {
		return open.route(name), nil
	}
	return model.Route{}, fault.Invalid("unsupported_model", "no provider offers the model %q", name)
}

func (p *provider) route(name string) model.Route {
	return model.Route{Provider: p.Name, Kind: p.Kind, Model: name, Client: p.client}
}
