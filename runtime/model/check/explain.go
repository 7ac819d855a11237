package check

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hecate/runtime/model"
)

// callQuirks are the quirks that concern tool calls.
var callQuirks = []model.Quirk{
	model.QuirkReason, model.QuirkNoCallIndex, model.QuirkSameCallIndex, model.QuirkCallRepeated,
	model.QuirkArgumentsObject, model.QuirkArgumentsEmpty,
}

// explanations say what was seen and what Hecate does about it.
var explanations = map[model.Quirk]string{
	model.QuirkNoEndMarker:     "The stream closes without its end marker; Hecate goes by the finish reason, so a cut after that goes unnoticed.",
	model.QuirkNoFinishReason:  "The answer does not say why it ends; Hecate goes by the end marker and cannot tell an answer that was cut for its length.",
	model.QuirkReason:          "The finish reason does not fit the tool calls beside it; Hecate goes by the calls.",
	model.QuirkNoCallIndex:     "Pieces of tool calls carry no index; Hecate tells the calls apart by their ids.",
	model.QuirkSameCallIndex:   "Several tool calls carry the same index; Hecate tells them apart by id and name.",
	model.QuirkCallRepeated:    "Id or name of a tool call are repeated in later pieces; Hecate keeps the first of each.",
	model.QuirkArgumentsObject: "Arguments come as JSON and not as text; Hecate takes the JSON as it is written.",
	model.QuirkArgumentsEmpty:  "Missing arguments come as an empty text; Hecate reads them as the empty object.",
}

// failed says what a failed request means.
func failed(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return "The request could not be made: " + short(err) + "."
	}
	switch e.Kind {
	case model.Unreachable:
		return "The server cannot be reached (" + short(err) + "); check its address and whether it runs."
	case model.Canceled:
		return "No complete answer came in time; Hecate would go on waiting until the run's own limit."
	case model.RateLimited:
		return "The server asks for fewer requests" + after(e.RetryAfter) + " (" + short(err) + ")."
	case model.Overloaded:
		return "The server is overloaded" + after(e.RetryAfter) + " (" + short(err) + "); Hecate would try again."
	case model.IncompleteStream:
		return "The answer broke off before its end; Hecate never takes such an answer for a complete one and tries again only if nothing of it had come."
	case model.InvalidResponse:
		return "The answer cannot be read (" + short(err) + "); check whether the base URL is that of the API."
	case model.ContextLength:
		return "A request of a few hundred tokens is too long for it (" + short(err) + "); give the model a larger context."
	}
	return "The server refused the request (" + short(err) + ")."
}

func after(wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	return fmt.Sprintf(" and to wait %s", wait)
}

const quoteMax = 160 // characters of others that are shown

func quote(s string) string { return strconv.Quote(cut(s)) }

func short(err error) string { return cut(strings.TrimRight(err.Error(), ". \n")) }

func cut(s string) string {
	runes := []rune(s)
	if len(runes) > quoteMax {
		return string(runes[:quoteMax]) + "…"
	}
	return s
}
