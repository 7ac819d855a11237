package provider

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
	ID           string
	Name         string
	Kind         string // cloud or local
	Protocol     string // openai or anthropic
	BaseURL      string
	APIVersion   string // of the anthropic protocol
	DefaultModel string // used when only the vendor's usual key variable is set

	keyEnv     string // that variable
	chatPath   string // under BaseURL, where the usual rule does not lead to the service
	modelsPath string
	// outputLimit is the request field that limits the answer, if it is not max_tokens.
	outputLimit string
}

// Presets returns all presets: cloud ones by id, then local ones by id.
func Presets() []Preset { return append([]Preset(nil), presets...) }

// PresetOf returns the preset with the id, if there is one.
func PresetOf(id string) (Preset, bool) {
	for _, p := range presets {
		if p.ID == key(id) {
			return p, true
		}
	}
	return Preset{}, false
}

var presets = []Preset{
	openAI("alibaba", "Alibaba Cloud Qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
	{
		ID: "anthropic", Name: "Anthropic", Kind: KindCloud, Protocol: ProtocolAnthropic, BaseURL: "https://api.anthropic.com",
		APIVersion: "2023-06-01", DefaultModel: "claude-sonnet-4-6", keyEnv: "ANTHROPIC_API_KEY",
	},
	openAI("cerebras", "Cerebras", "https://api.cerebras.ai/v1"),
	openAI("cohere", "Cohere", "https://api.cohere.ai/compatibility/v1"),
	openAI("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai").direct(),
	openAI("deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
	openAI("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1"),
	openAI("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai").direct(),
	openAI("groq", "Groq", "https://api.groq.com/openai/v1"),
	openAI("huggingface", "Hugging Face", "https://router.huggingface.co/v1"),
	openAI("mistral", "Mistral", "https://api.mistral.ai/v1"),
	openAI("moonshot", "Moonshot AI", "https://api.moonshot.ai/v1"),
	openAI("nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1"),
	{
		ID: "openai", Name: "OpenAI", Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: "https://api.openai.com",
		DefaultModel: "gpt-4o-mini", keyEnv: "OPENAI_API_KEY",
		outputLimit: "max_completion_tokens", // its reasoning models refuse max_tokens
	},
	openAI("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
	{
		ID: "perplexity", Name: "Perplexity", Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: "https://api.perplexity.ai",
		chatPath: "/chat/completions", modelsPath: "/v1/models",
	},
	openAI("requesty", "Requesty", "https://router.requesty.ai/v1"),
	openAI("together_ai", "Together AI", "https://api.together.xyz/v1"),
	openAI("vercel_ai_gateway", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1"),
	openAI("xai", "xAI", "https://api.x.ai/v1"),
	openAI("zai", "z.ai", "https://api.z.ai/api/paas/v4").direct(),
	local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
	local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
	local("localai", "LocalAI", "http://127.0.0.1:8080/v1"),
	local("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
}

func openAI(id, name, baseURL string) Preset {
	return Preset{ID: id, Name: name, Kind: KindCloud, Protocol: ProtocolOpenAI, BaseURL: baseURL}
}

func local(id, name, baseURL string) Preset {
	p := openAI(id, name, baseURL)
	p.Kind = KindLocal
	return p
}

// direct marks a service whose base ends in a version of its own form, so no /v1 follows.
func (p Preset) direct() Preset {
	p.chatPath, p.modelsPath = "/chat/completions", "/models"
	return p
}
