package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// modelsNamed is how many models a message names.
const modelsNamed = 10

// checkModel finds out whether the server can ask a model for what is requested,
// before anything is recorded that could only fail. A provider that is merely left
// alone for a while is no reason to refuse, and a server that doesn't tell finds out by itself.
func checkModel(ctx context.Context, a *app, server *client.Client, provider, model string) error {
	all, err := server.Providers(ctx, false)
	if err != nil {
		return nil //nolint:nilerr // the run will say it
	}
	if provider != "" {
		return checkPinned(a, all, provider, model)
	}
	if len(all) == 0 {
		return advise(fmt.Errorf("the server at %s has no model provider", server.BaseURL()), "For the server, and then start it anew:\n"+providerHelp)
	}
	ready := slices.DeleteFunc(slices.Clone(all), func(p client.Provider) bool { return !p.CredentialReady })
	knows := func(p client.Provider) bool {
		return model == "" && p.DefaultModel != "" || slices.Contains(p.Models, model)
	}
	switch {
	case len(ready) == 0:
		return advise(errors.New("no model provider can be asked"), missing(all))
	case slices.ContainsFunc(ready, knows):
		return nil
	case model == "":
		return advise(errors.New("no model was named, and none is known of any provider"), missing(ready))
	case len(ready) == 1:
		noticeUnlisted(a, ready[0], model)
		return nil
	case slices.ContainsFunc(ready, func(p client.Provider) bool { return len(p.Models) == 0 }):
		return nil // that one is asked
	}
	return advise(fmt.Errorf("no provider offers the model %s", model), offers(ready))
}

// checkPinned is checkModel for a provider that was named.
func checkPinned(a *app, all []client.Provider, provider, model string) error {
	i := slices.IndexFunc(all, func(p client.Provider) bool { return sameProvider(p.Name, provider) })
	switch {
	case i < 0 && len(all) == 0:
		return advise(fmt.Errorf("the server has no provider %s, and no other one", provider), "For the server, and then start it anew:\n"+providerHelp)
	case i < 0:
		return advise(fmt.Errorf("the server has no provider %s", provider), offers(all))
	case !all[i].CredentialReady:
		return advise(fmt.Errorf("provider %s cannot be asked", provider), missing(all[i:i+1]))
	}
	noticeUnlisted(a, all[i], model)
	return nil
}

// noticeUnlisted tells of a model that its provider doesn't list. It may have it all the same.
func noticeUnlisted(a *app, p client.Provider, model string) {
	if len(p.Models) > 0 && !slices.Contains(p.Models, model) {
		fmt.Fprintf(a.err, "%s %s does not list the model %s; it is asked for it all the same\n", a.errStyle.Yellow("!"), terminal.Line(p.Name), terminal.Line(model))
	}
}

// sameProvider compares names as the server does.
func sameProvider(a, b string) bool {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_") }
	return plain(a) == plain(b)
}

// missing lists what is wrong with providers, and what to do about it.
func missing(list []client.Provider) string {
	var out []string
	for _, p := range list {
		for _, c := range p.Checks {
			if c.Status == "ok" || c.Status == "unknown" || c.Name == "routing" {
				continue
			}
			out = append(out, terminal.Line(strings.TrimSpace(p.Name+": "+c.Message+" "+c.OperatorAction)))
		}
	}
	return strings.Join(append(out, "see: hecate providers"), "\n")
}

// offers lists what models there are.
func offers(list []client.Provider) string {
	var out []string
	for _, p := range list {
		models := "its models are not known"
		if len(p.Models) > 0 {
			models = strings.Join(p.Models[:min(len(p.Models), modelsNamed)], ", ")
			if rest := len(p.Models) - modelsNamed; rest > 0 {
				models += fmt.Sprintf(" and %d more", rest)
			}
		}
		out = append(out, terminal.Line(p.Name+" has "+models))
	}
	return strings.Join(append(out, "see: hecate providers"), "\n")
}
