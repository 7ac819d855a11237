package provider

import (
	"context"
	"sync"
	"time"

	"hecate/runtime/model"
)

// localWait is how long a local server may take to list its models.
const localWait = 500 * time.Millisecond

// localCandidates are the presets that are looked for, in the order of preference.
var localCandidates = []string{"ollama", "lmstudio", "llamacpp"}

// DiscoverLocal looks for a model server at the usual ports of this machine
// (Ollama 11434, LM Studio 1234, llama.cpp 8080), all at once and for half a
// second at most. It returns the first of them, in that order, that lists a model.
func DiscoverLocal(ctx context.Context) (name, baseURL string, models []string, ok bool) {
	var candidates []Preset
	for _, id := range localCandidates {
		if p, known := PresetOf(id); known {
			candidates = append(candidates, p)
		}
	}
	return discoverAmong(ctx, candidates)
}

func discoverAmong(ctx context.Context, candidates []Preset) (name, baseURL string, models []string, ok bool) {
	ctx, stop := context.WithTimeout(ctx, localWait)
	defer stop()
	client := model.NewHTTPClient()
	defer client.CloseIdleConnections()
	found := make([][]string, len(candidates))
	var asking sync.WaitGroup
	for i, p := range candidates {
		asking.Go(func() {
			// Nobody there, or no model server: the normal case, and no error.
			found[i], _ = model.NewOpenAI(model.Endpoint{BaseURL: p.BaseURL, HTTP: client}).Models(ctx)
		})
	}
	asking.Wait()
	for i, p := range candidates {
		if len(found[i]) > 0 {
			return p.ID, p.BaseURL, found[i], true
		}
	}
	return "", "", nil, false
}
