package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hecate/domain/run"
	"hecate/runtime/model"
)

// lister is a client that can list the models of its provider, as those of this program can.
type lister interface {
	Models(ctx context.Context) ([]string, error)
}

func (c *checker) models(ctx context.Context) {
	l, ok := c.route.Client.(lister)
	if !ok {
		return
	}
	ctx, stop := context.WithTimeout(ctx, requestMax)
	defer stop()
	begun := time.Now()
	names, err := l.Models(ctx)
	took := time.Since(begun)
	switch {
	case err != nil:
		c.add(Models, Quirk, took, "It does not list its models ("+short(err)+"); name them in the provider's _MODELS variable.")
	case slices.Contains(names, c.route.Model):
		c.add(Models, Pass, took, fmt.Sprintf("It lists %d, and %s is among them.", len(names), c.route.Model))
	default:
		c.add(Models, Quirk, took, fmt.Sprintf("It lists %d, and %s is not among them; Hecate asks for it all the same when a task names it.", len(names), c.route.Model))
	}
}

const onlyWord = "Reply with the single word: ready"

// answer asks without streaming, and reports whether it makes sense to go on.
func (c *checker) answer(ctx context.Context) bool {
	r := c.ask(ctx, request{messages: []run.Message{system(), user(onlyWord)}, whole: true})
	switch {
	case r.err != nil:
		c.add(Answer, Fail, r.took, failed(r.err))
		return !hopeless(r.err)
	case r.Message.Blank():
		c.add(Answer, Fail, r.took, "The answer has no text; a run fails when its model says nothing.")
	case slices.Contains(r.Quirks, model.QuirkStreamed):
		c.add(Answer, Quirk, r.took, "A stream came although none was asked for; Hecate reads either form.")
	default:
		c.add(Answer, Pass, r.took, "A whole answer came in one piece.")
	}
	c.whole = r.Response
	return true
}

// hopeless reports whether the other requests would fail the same way.
func hopeless(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Kind {
	case model.Unreachable, model.Canceled, model.RateLimited:
		return true
	}
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound
}

func (c *checker) stream(ctx context.Context) {
	r := c.ask(ctx, request{messages: []run.Message{system(), user(onlyWord)}})
	switch {
	case r.err != nil:
		c.add(Stream, Fail, r.took, failed(r.err))
		return
	case r.Message.Blank():
		c.add(Stream, Fail, r.took, "The streamed answer has no text; a run fails when its model says nothing.")
		return
	case slices.Contains(r.Quirks, model.QuirkNotStreamed):
		c.add(Stream, Quirk, r.took, "The answer came in one piece although a stream was asked for; text appears only at the end.")
	default:
		c.add(Stream, Pass, r.took, fmt.Sprintf("The answer came as a stream, its text in %d.", r.pieces))
	}
	c.endMarker(r)
	c.usage(r)
}

func (c *checker) endMarker(r reply) {
	if slices.Contains(r.Quirks, model.QuirkNotStreamed) {
		return
	}
	var missing []string
	for _, q := range []model.Quirk{model.QuirkNoEndMarker, model.QuirkNoFinishReason} {
		if slices.Contains(r.Quirks, q) {
			missing = append(missing, explanations[q])
		}
	}
	if len(missing) > 0 {
		c.add(EndMarker, Quirk, 0, strings.Join(missing, " "))
		return
	}
	c.add(EndMarker, Pass, 0, "The stream says why it ends and closes with its end marker, so a cut one is recognised.")
}

func (c *checker) usage(streamed reply) {
	whole, stream := c.whole != nil && c.whole.Usage != nil, streamed.Usage != nil
	switch {
	case stream && streamed.Usage.Partial:
		c.add(Usage, Quirk, 0, "Only one of the two token counts is reported; costs are unknown unless the provider states them.")
	case stream && streamed.Usage.CostPicoUSD != nil:
		c.add(Usage, Pass, 0, "Tokens and the cost of the call are reported, and the reported cost counts.")
	case stream:
		c.add(Usage, Pass, 0, "Tokens are reported; costs follow from HECATE_MODEL_PRICES.")
	case whole:
		c.add(Usage, Quirk, 0, "Tokens are reported, but not in streams, which Hecate uses; costs are unknown and a cost ceiling cannot be enforced.")
	default:
		c.add(Usage, Quirk, 0, "Tokens are not reported; costs are unknown and a cost ceiling cannot be enforced.")
	}
}

const script = "Grüße, 世界 ✅ 🚀"

func (c *checker) unicode(ctx context.Context) {
	r := c.ask(ctx, request{messages: []run.Message{system(), user("Repeat this line exactly: " + script)}})
	text := ""
	if r.err == nil {
		text = r.Message.Content.String()
	}
	switch {
	case r.err != nil:
		c.add(Unicode, Fail, r.took, failed(r.err))
	case strings.Contains(text, script):
		c.add(Unicode, Pass, r.took, "Characters beyond ASCII came back unharmed.")
	case strings.Contains(text, "\uFFFD"):
		c.add(Unicode, Fail, r.took, "The server breaks characters beyond ASCII; edits to files that hold them would be wrong.")
	default:
		c.add(Unicode, Quirk, r.took, fmt.Sprintf("The line came back as %s; no character is broken, so that is the model's doing.", quote(text)))
	}
}

func (c *checker) outputLimit(ctx context.Context) {
	const limit = 32
	r := c.ask(ctx, request{
		messages: []run.Message{system(), user("Write the numbers from 1 to 200, each on a line of its own.")},
		limit:    limit,
	})
	switch {
	case r.err != nil:
		c.add(OutputLimit, Fail, r.took, fmt.Sprintf("With a limit of %d tokens: %s", limit, failed(r.err)))
	case r.FinishReason == "length":
		c.add(OutputLimit, Pass, r.took, "A limit on the answer holds, and the answer says that it was cut; Hecate runs no tool call of a cut answer.")
	case r.Usage != nil && r.Usage.Output > limit:
		c.add(OutputLimit, Quirk, r.took, fmt.Sprintf("The answer took %d tokens although %d were the limit.", r.Usage.Output, limit))
	default:
		c.add(OutputLimit, Quirk, r.took, fmt.Sprintf("The answer does not say that it was cut (it ends with %q); a cut tool call would be recognised by its broken arguments.", r.FinishReason))
	}
}
