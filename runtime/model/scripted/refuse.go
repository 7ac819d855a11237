package scripted

import (
	"encoding/json"
	"net/http"
)

func refusal(message string) Reply {
	return Reply{HTTP: http.StatusBadRequest, Body: errorBody(message)}
}

func errorBody(message string) json.RawMessage {
	body, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": message}})
	if err != nil { // maps of strings always encode
		return nil
	}
	return body
}

func sendError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(message)) // a client that left needs no answer
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left needs no answer
}

// RefuseBrokenArguments is a Rule of strict providers: a request is refused if
// an assistant tool call in it has arguments that are no JSON.
func RefuseBrokenArguments(r Request) *Reply {
	var body struct {
		Messages []struct {
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		reply := refusal("messages cannot be read: " + err.Error())
		return &reply
	}
	for _, m := range body.Messages {
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				reply := refusal("the arguments of tool call " + c.ID + " are no JSON")
				return &reply
			}
		}
	}
	return nil
}
