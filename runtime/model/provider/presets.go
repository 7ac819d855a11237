package provider

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of provider. A local one needs no key.
const (
	KindCloud = "cloud"
	KindLocal = "local"
)

// Protocols: the two wire dialects.
const (
	ProtocolOpenAI    = "openai"
	ProtocolAnthropic = "anthropic"
)

// Preset is what is known about a provider beforehand. A configuration with the
// preset's name needs only what differs, mostly the key.
type Preset struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Kind         string `json:"kind"`     // cloud or local
	Protocol     string `json:"protocol"` // openai or anthropic
	BaseURL      string `json:"base_url"`
	APIKeyEnv    string `json:"api_key_env,omitempty"`   // variable of the key; local ones need none
	APIVersion   string `json:"api_version,omitempty"`   // of the anthropic protocol
	DefaultModel string `json:"default_model,omitempty"` // used when only the vendor's usual key variable is set
	DocsURL      string `json:"docs_url,omitempty"`
	Description  string `json:"description,omitempty"`
	EnvSnippet   string `json:"env_snippet,omitempty"` // the lines of an environment file that set it up

	keyEnv     string // the vendor's usual key variable
	chatPath   string // under BaseURL, where the usual rule does not lead to the service
	modelsPath string
	// outputLimit is the request field that limits the answer, if it is not max_tokens.
	outputLimit string
}

// Presets returns all presets: cloud ones by id, then local ones by id.
func Presets() []Preset {
	out := slices.Clone(presets)
	for i := range out {
		out[i].setUp()
	}
	return out
}

// setUp fills in how the preset is configured.
func (p *Preset) setUp() {
	prefix := "PROVIDER_" + strings.ToUpper(p.ID)
	second := fmt.Sprintf("%s_BASE_URL=%s", prefix, p.BaseURL)
	if p.Kind == KindCloud {
		p.APIKeyEnv = prefix + "_API_KEY"
		second = p.APIKeyEnv + "="
	}
	p.EnvSnippet = fmt.Sprintf("%s_PRECONFIGURED=true\n%s", prefix, second)
}

// PresetOf returns the preset with the id, if there is one.
func PresetOf(id string) (Preset, bool) {
	for _, p := range presets {
		if p.ID == key(id) {
			p.setUp()
			return p, true
		}
	}
	return Preset{}, false
}

var presets = []Preset{
	openAI("alibaba", "Alibaba Cloud Qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "https://www.alibabacloud.com/help/en/model-studio/").about("Qwen models on Alibaba Cloud Model Studio."),
	{
		ID: "anthropic", Name: "Anthropic", Kind: KindCloud, Protocol: ProtocolAnthropic, BaseURL: "https://api.anthropic.com",
		APIVersion: "2023-06-01", DefaultModel: "claude-sonnet-4-6", keyEnv: "ANTHROPIC_API_KEY",
		DocsURL: "https://docs.anthropic.com/", Description: "Claude models over the Messages API.",
	},
	openAI("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "https://inference-docs.cerebras.ai/").about("Open models on Cerebras hardware."),
	openAI("cohere", "Cohere", "https://api.cohere.ai/compatibility/v1", "https://docs.cohere.com/").about("Command models through Cohere's compatibility API."),
	openAI("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai", "https://deepinfra.com/docs").about("Open models, hosted by DeepInfra.").direct(),
	openAI("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "https://api-docs.deepseek.com/").about("DeepSeek's own models."),
	openAI("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1", "https://docs.fireworks.ai/").about("Open models, hosted by Fireworks AI."),
	openAI("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "https://ai.google.dev/gemini-api/docs/openai").about("Gemini models through Google's OpenAI-compatible endpoint.").direct(),
	openAI("groq", "Groq", "https://api.groq.com/openai/v1", "https://console.groq.com/docs").about("Open models on Groq hardware."),
	openAI("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "https://huggingface.co/docs/inference-providers").about("Many hosts of open models behind one router."),
	openAI("mistral", "Mistral", "https://api.mistral.ai/v1", "https://docs.mistral.ai/").about("Mistral's own models."),
	openAI("moonshot", "Moonshot AI", "https://api.moonshot.ai/v1", "https://platform.moonshot.ai/docs").about("Kimi models."),
	openAI("nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1", "https://docs.api.nvidia.com/").about("Models in NVIDIA's API catalogue."),
	{
		ID: "openai", Name: "OpenAI", Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: "https://api.openai.com",
		DefaultModel: "gpt-4o-mini", keyEnv: "OPENAI_API_KEY",
		DocsURL: "https://platform.openai.com/docs", Description: "GPT models over Chat Completions.",
		outputLimit: "max_completion_tokens", // its reasoning models refuse max_tokens
	},
	openAI("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "https://openrouter.ai/docs").about("Models of many vendors behind one key; reports the cost of a call."),
	{
		ID: "perplexity", Name: "Perplexity", Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: "https://api.perplexity.ai",
		DocsURL: "https://docs.perplexity.ai/", Description: "Sonar models, which search the web.",
		chatPath: "/chat/completions", modelsPath: "/v1/models",
	},
	openAI("requesty", "Requesty", "https://router.requesty.ai/v1", "https://docs.requesty.ai/").about("A router to the models of many vendors."),
	openAI("together_ai", "Together AI", "https://api.together.xyz/v1", "https://docs.together.ai/").about("Open models, hosted by Together AI."),
	openAI("vercel_ai_gateway", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1", "https://vercel.com/docs/ai-gateway").about("Models of many vendors behind Vercel's gateway."),
	openAI("xai", "xAI", "https://api.x.ai/v1", "https://docs.x.ai/").about("Grok models."),
	openAI("zai", "z.ai", "https://api.z.ai/api/paas/v4", "https://docs.z.ai/").about("GLM models.").direct(),
	local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", "https://github.com/ggml-org/llama.cpp/tree/master/tools/server").about("llama-server on this machine; start it with --jinja for tool calls."),
	local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "https://lmstudio.ai/docs").about("The server of LM Studio on this machine."),
	local("localai", "LocalAI", "http://127.0.0.1:8080/v1", "https://localai.io/").about("A LocalAI server on this machine."),
	local("ollama", "Ollama", "http://127.0.0.1:11434/v1", "https://docs.ollama.com/").about("Ollama on this machine; give its models a context that holds an agent's conversation."),
}

func openAI(id, name, baseURL, docs string) Preset {
	return Preset{ID: id, Name: name, Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: baseURL, DocsURL: docs}
}

func local(id, name, baseURL, docs string) Preset {
	p := openAI(id, name, baseURL, docs)
	p.Kind = KindLocal
	return p
}

func (p Preset) about(description string) Preset {
	p.Description = description
	return p
}

// direct marks a service whose base ends in a version of its own form, so no /v1 follows.
func (p Preset) direct() Preset {
	p.chatPath, p.modelsPath = "/chat/completions", "/models"
	return p
}
