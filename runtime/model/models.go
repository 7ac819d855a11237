package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

const (
	modelListBytesMax = 8 << 20
	modelsMax         = 10_000
)

// Models asks the provider which models it offers, in its own order. Errors are *Error.
func (c *OpenAI) Models(ctx context.Context) ([]string, error) {
	return c.endpoint.listModels(ctx, c.headers(false))
}

// Models asks the provider which models it offers, in its own order. Errors are *Error.
func (c *Anthropic) Models(ctx context.Context) ([]string, error) {
	return c.endpoint.listModels(ctx, c.headers(false))
}

func (e Endpoint) listModels(ctx context.Context, headers http.Header) ([]string, error) {
	a, err := e.send(ctx, http.MethodGet, e.url(e.ModelsPath, "/models"), headers, nil)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(a.Body, modelListBytesMax))
	a.close()
	if err != nil {
		return nil, e.transportFailure(ctx, err)
	}
	type entry struct {
		ID string `json:"id"`
	}
	var form struct {
		Data []entry `json:"data"`
	}
	if err := json.Unmarshal(body, &form); err != nil && json.Unmarshal(body, &form.Data) != nil {
		return nil, invalid(fmt.Errorf("read list of models: %w", err))
	}
	var models []string
	for _, m := range form.Data {
		if m.ID != "" && len(models) < modelsMax {
			models = append(models, m.ID)
		}
	}
	return models, nil
}
