package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hecate/api/envelope"
	"hecate/domain/fault"
)

// Limits of a request's body.
const (
	BodyMax     = 4 << 20
	bodyTimeMax = 60 * time.Second
)

// TaskPath names a task.
type TaskPath struct {
	TaskID string `path:"task_id" doc:"Id of the task." example:"task_4f6b1f0c9d2e8a7b3c5d6e7f"`
}

// RunPath names a run of a task.
type RunPath struct {
	TaskPath
	RunID string `path:"run_id" doc:"Id of the run; it must be one of the task's." example:"run_0a1b2c3d4e5f60718293a4b5"`
}

// required is a body that must be one JSON object. Members that nobody knows are
// ignored, and so is the Content-Type.
type required[T any] struct {
	Value T
	Raw   []byte // as it came
}

// Resolve reads the body.
func (b *required[T]) Resolve(ctx huma.Context) []error {
	raw, err := readBody(ctx)
	if err != nil {
		return []error{err}
	}
	b.Raw = raw
	if err := decode(raw, &b.Value); err != nil {
		return []error{err}
	}
	return nil
}

// tolerant is a body that may be absent or unreadable; Value then is the zero value.
type tolerant[T any] struct{ Value T }

// Resolve reads the body.
func (b *tolerant[T]) Resolve(ctx huma.Context) []error {
	raw, err := readBody(ctx)
	if err != nil {
		return []error{err}
	}
	var v T
	if decode(raw, &v) == nil {
		b.Value = v
	}
	return nil
}

// optional is a body that may be absent, but must be right if it is there.
type optional[T any] struct{ Value T }

// Resolve reads the body.
func (b *optional[T]) Resolve(ctx huma.Context) []error {
	raw, err := readBody(ctx)
	if err == nil && len(bytes.TrimSpace(raw)) > 0 {
		err = decode(raw, &b.Value)
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

func readBody(ctx huma.Context) ([]byte, error) {
	r, w := humago.Unwrap(ctx)
	// Not every ResponseWriter can; the server's own limit holds then.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeMax))
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, BodyMax))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, envelope.New(http.StatusRequestEntityTooLarge, envelope.TypeTooLarge, fmt.Sprintf("the request body is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, envelope.New(http.StatusRequestTimeout, envelope.TypeTimeout, "the request body took too long to arrive")
	case err != nil:
		return nil, invalid("the request body could not be read")
	}
	return raw, nil
}

func invalid(format string, args ...any) *envelope.Error {
	return envelope.New(http.StatusBadRequest, envelope.TypeInvalid, fmt.Sprintf(format, args...))
}

// decode reads exactly one JSON object into v. Numbers in free-form members stay as
// they were written.
func decode(raw []byte, v any) error {
	if !utf8.Valid(raw) {
		return invalid("request body must be UTF-8")
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return invalid("request body must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		return invalid("member %q cannot be a JSON %s", member(wrongType.Field), wrongType.Value)
	case err != nil:
		return invalid("request body must be valid JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("request body must be a single JSON object")
	}
	return nil
}

// member is the path of a member without the Go types whose members stand in it as if
// they were its own: only those have capital letters.
func member(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool { return strings.ToLower(part) != part })
	return strings.Join(parts, ".")
}

// remarkMax bounds what people add in passing: a reason or a note, in bytes.
const remarkMax = 4 << 10

// remark checks such a text.
func remark(member, text string) error {
	if len(text) > remarkMax {
		return invalid("%s has %d bytes, at most %d are allowed", member, len(text), remarkMax)
	}
	return nil
}

// cutRemark cuts one short, where the request is to work whatever its body says.
func cutRemark(text string) string {
	if len(text) <= remarkMax {
		return text
	}
	return strings.ToValidUTF8(text[:remarkMax], "")
}

// cursor is a sequence to go on after, as clients send it.
type cursor string

// Schema describes it as the number that it should be.
func (cursor) Schema(huma.Registry) *huma.Schema {
	zero := 0.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &zero, Examples: []any{128}}
}

// lenient reads a cursor where a bad one counts as none.
func (c cursor) lenient() int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(string(c)), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// strict reads a cursor; an absent one is 0.
func (c cursor) strict(name string) (int64, error) {
	if c == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(c), 10, 64)
	if err != nil || n < 0 {
		return 0, fault.Invalid(envelope.TypeInvalid, "%s must be a non-negative integer", name)
	}
	return n, nil
}

// count is how many entries a client wants.
type count string

// Schema describes it as the number that it should be.
func (count) Schema(huma.Registry) *huma.Schema {
	zero := 0.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &zero}
}

// between reads a limit of at least least. An absent one is the default, one above
// most is cut to it.
func (c count) between(least, byDefault, most int) (int, error) {
	if c == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(string(c))
	if err != nil || n < least {
		what := "a positive integer"
		if least == 0 {
			what = "a non-negative integer"
		}
		return 0, fault.Invalid(envelope.TypeInvalid, "limit must be %s", what)
	}
	return min(n, most), nil
}
