// Package provider knows which model providers there are and picks one for a
// run. It reads their configuration, finds out what they offer, and hands out
// the client for a model.
package provider

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Config is one provider. Empty fields are taken from the preset of that name.
type Config struct {
	Name     string // lower case; - and _ are the same
	Kind     string // cloud (default) or local
	Protocol string // openai (default) or anthropic
	BaseURL  string // absolute http or https URL without user, query and fragment
	APIKey   string
	Models   []string // known models, the first is the default; empty: the provider is asked
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// complete fills the gaps from the preset and the defaults, and checks the result.
func (c Config) complete() (Config, error) {
	preset, _ := PresetOf(c.Name)
	for _, f := range []struct {
		field       *string
		preset, def string
	}{
		{&c.Kind, preset.Kind, KindCloud},
		{&c.Protocol, preset.Protocol, ProtocolOpenAI},
		{&c.BaseURL, preset.BaseURL, ""},
	} {
		if *f.field == "" {
			*f.field = f.preset
		}
		if *f.field == "" {
			*f.field = f.def
		}
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	return c, c.check()
}

func (c Config) check() error {
	switch {
	case !nameForm.MatchString(c.Name):
		return fmt.Errorf("provider name %q must be lower case letters, digits, - and _", c.Name)
	case c.Kind != KindCloud && c.Kind != KindLocal:
		return fmt.Errorf("kind %q of provider %s must be cloud or local", c.Kind, c.Name)
	case c.Protocol != ProtocolOpenAI && c.Protocol != ProtocolAnthropic:
		return fmt.Errorf("protocol %q of provider %s must be openai or anthropic", c.Protocol, c.Name)
	case c.BaseURL == "":
		return fmt.Errorf("base url is required for provider %s", c.Name)
	case strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("api key of provider %s contains white space or control characters", c.Name)
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("base url of provider %s must be an absolute http(s) URL without user, query and fragment", c.Name)
	}
	return nil
}

func (c Config) keyMissing() error {
	if c.Kind == KindCloud && c.APIKey == "" {
		return fmt.Errorf("api key is required for cloud provider %s", c.Name)
	}
	return nil
}

// Parse reads providers from environment entries of the form NAME=value, sorted
// by name. All problems come back in one error.
//
// PROVIDER_<NAME>_BASE_URL or PROVIDER_<NAME>_API_KEY names a provider, and it
// counts if PROVIDER_<NAME>_PRECONFIGURED is true; _KIND and _MODELS are
// optional. OPENAI_API_KEY or ANTHROPIC_API_KEY alone set up the provider of
// that name with a default model, unless it is configured in the form above.
func Parse(environ []string) ([]Config, error) {
	env := newEnvironment(environ).values
	configs := map[string]Config{}
	var problems []error
	for _, upper := range names(env) {
		c, wanted, err := parseOne(env, upper)
		if err != nil {
			problems = append(problems, err)
		} else if wanted {
			configs[c.Name] = c
		}
	}
	for _, p := range presets {
		if _, taken := configs[p.ID]; taken || p.keyEnv == "" || env[p.keyEnv] == "" {
			continue
		}
		c, err := Config{Name: p.ID, APIKey: env[p.keyEnv], Models: []string{p.DefaultModel}}.complete()
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.keyEnv, err))
		}
		configs[p.ID] = c
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("configure providers: %w", err)
	}
	return sorted(configs), nil
}

// names returns the <NAME> parts in use, sorted.
func names(env map[string]string) []string {
	var out []string
	for variable, value := range env {
		rest, ok := strings.CutPrefix(variable, "PROVIDER_")
		if !ok || value == "" {
			continue
		}
		for _, suffix := range []string{"_BASE_URL", "_API_KEY"} {
			if name, ok := strings.CutSuffix(rest, suffix); ok && name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func parseOne(env map[string]string, upper string) (c Config, wanted bool, err error) {
	get := func(suffix string) string { return env["PROVIDER_"+upper+suffix] }
	if text := get("_PRECONFIGURED"); text != "" {
		if wanted, err = strconv.ParseBool(text); err != nil {
			return Config{}, false, fmt.Errorf("PROVIDER_%s_PRECONFIGURED: %q is not a boolean", upper, text)
		}
	}
	if !wanted {
		return Config{}, false, nil
	}
	c = Config{Name: strings.ToLower(upper), BaseURL: get("_BASE_URL"), APIKey: get("_API_KEY"), Kind: get("_KIND")}
	for name := range strings.SplitSeq(get("_MODELS"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.Models = append(c.Models, name)
		}
	}
	if c, err = c.complete(); err == nil {
		err = c.keyMissing()
	}
	if err != nil {
		return Config{}, false, fmt.Errorf("PROVIDER_%s: %w", upper, err)
	}
	return c, true, nil
}

func sorted(configs map[string]Config) []Config {
	var out []Config
	for _, c := range configs {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Config) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// key is the form in which names are compared.
func key(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}
