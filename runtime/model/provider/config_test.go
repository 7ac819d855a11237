package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/runtime/model/provider"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		environ []string
		want    []provider.Config
		err     []string // what the one error must name
	}{
		"nothing":        {nil, nil, nil},
		"only intent":    {[]string{"PROVIDER_OPENAI_API_KEY=k", "PROVIDER_X_PRECONFIGURED=false", "PROVIDER_X_BASE_URL=http://h"}, nil, nil},
		"no trigger":     {[]string{"PROVIDER_X_PRECONFIGURED=true", "PROVIDER_X_BASE_URL=", "PROVIDER__API_KEY=k"}, nil, nil},
		"preset":         {[]string{"PROVIDER_TOGETHER_AI_PRECONFIGURED=1", "PROVIDER_TOGETHER_AI_API_KEY= k "}, []provider.Config{{Name: "together_ai", Kind: "cloud", Protocol: "openai", BaseURL: "https://api.together.xyz/v1", APIKey: "k"}}, nil},
		"anthropic":      {[]string{"PROVIDER_ANTHROPIC_PRECONFIGURED=true", "PROVIDER_ANTHROPIC_API_KEY=k", "PROVIDER_ANTHROPIC_BASE_URL=http://127.0.0.1:9/"}, []provider.Config{{Name: "anthropic", Kind: "cloud", Protocol: "anthropic", BaseURL: "http://127.0.0.1:9", APIKey: "k"}}, nil},
		"local preset":   {[]string{"PROVIDER_OLLAMA_PRECONFIGURED=true", "PROVIDER_OLLAMA_BASE_URL=http://h:1/v1"}, []provider.Config{{Name: "ollama", Kind: "local", Protocol: "openai", BaseURL: "http://h:1/v1"}}, nil},
		"custom, local":  {[]string{"PROVIDER_MY_FAKE_PRECONFIGURED=t", "PROVIDER_MY_FAKE_BASE_URL=http://h:1", "PROVIDER_MY_FAKE_KIND=local", "PROVIDER_MY_FAKE_MODELS=a, ,b"}, []provider.Config{{Name: "my_fake", Kind: "local", Protocol: "openai", BaseURL: "http://h:1", Models: []string{"a", "b"}}}, nil},
		"key alone":      {[]string{"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=l"}, []provider.Config{{Name: "anthropic", Kind: "cloud", Protocol: "anthropic", BaseURL: "https://api.anthropic.com", APIKey: "l", Models: []string{"claude-sonnet-4-6"}}, {Name: "openai", Kind: "cloud", Protocol: "openai", BaseURL: "https://api.openai.com", APIKey: "k", Models: []string{"gpt-4o-mini"}}}, nil},
		"full form wins": {[]string{"OPENAI_API_KEY=k", "PROVIDER_OPENAI_PRECONFIGURED=true", "PROVIDER_OPENAI_API_KEY=p", "PROVIDER_OPENAI_MODELS=m"}, []provider.Config{{Name: "openai", Kind: "cloud", Protocol: "openai", BaseURL: "https://api.openai.com", APIKey: "p", Models: []string{"m"}}}, nil},
		"all problems": {[]string{
			"PROVIDER_A_PRECONFIGURED=maybe", "PROVIDER_A_API_KEY=topsecret",
			"PROVIDER_B_PRECONFIGURED=true", "PROVIDER_B_API_KEY=topsecret",
			"PROVIDER_C_PRECONFIGURED=true", "PROVIDER_C_BASE_URL=http://h",
			"PROVIDER_D_PRECONFIGURED=true", "PROVIDER_D_BASE_URL=ftp://h", "PROVIDER_D_API_KEY=topsecret",
			"PROVIDER_E_PRECONFIGURED=true", "PROVIDER_E_BASE_URL=http://u:topsecret@h", "PROVIDER_E_API_KEY=topsecret",
			"PROVIDER_F_PRECONFIGURED=true", "PROVIDER_F_BASE_URL=http://h", "PROVIDER_F_KIND=clowd",
			"PROVIDER_G_PRECONFIGURED=true", "PROVIDER_G_BASE_URL=http://h", "PROVIDER_G_API_KEY=topsecret\nX: y",
		}, nil, []string{
			`PROVIDER_A_PRECONFIGURED: "maybe" is not a boolean`, "base url is required for provider b", "api key is required for cloud provider c",
			"base url of provider d", "base url of provider e", `kind "clowd" of provider f`, "api key of provider g",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := provider.Parse(c.environ)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("providers (-want +got):\n%s", diff)
			}
			if (err != nil) != (c.err != nil) {
				t.Fatalf("error %v", err)
			}
			for _, part := range c.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%v", part, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "topsecret") {
				t.Errorf("the error shows a secret:\n%v", err)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range provider.Presets() {
		if seen[p.ID] || p.Name == "" || p.Description == "" || !strings.HasPrefix(p.DocsURL, "https://") {
			t.Errorf("preset %q is there twice or lacks something", p.ID)
		}
		if configs, err := provider.Parse(filledIn(p.EnvSnippet)); err != nil || len(configs) != 1 || configs[0].Name != p.ID || configs[0].BaseURL != p.BaseURL {
			t.Errorf("the snippet of %s sets up %+v, %v", p.ID, configs, err)
		}
		seen[p.ID] = true
		if _, err := provider.New([]provider.Config{{Name: p.ID, APIKey: "k"}}, provider.Options{}); err != nil {
			t.Errorf("preset %s: %v", p.ID, err)
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d presets", len(seen))
	}
	p, ok := provider.PresetOf("Together-AI")
	text, err := json.Marshal(p)
	want := `{"id":"together_ai","name":"Together AI","kind":"cloud","protocol":"openai","base_url":"https://api.together.xyz/v1",` +
		`"api_key_env":"PROVIDER_TOGETHER_AI_API_KEY","docs_url":"https://docs.together.ai/","description":"Open models, hosted by Together AI.",` +
		`"env_snippet":"PROVIDER_TOGETHER_AI_PRECONFIGURED=true\nPROVIDER_TOGETHER_AI_API_KEY="}`
	if !ok || err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
}

// filledIn puts a key into an environment file that waits for one.
func filledIn(snippet string) []string {
	lines := strings.Split(snippet, "\n")
	for i, line := range lines {
		if strings.HasSuffix(line, "_API_KEY=") {
			lines[i] += "k"
		}
	}
	return lines
}
