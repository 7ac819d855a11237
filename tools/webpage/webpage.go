// Package webpage makes text that a model can read of what web servers send: Markdown
// of HTML, other text as it is. What comes from a server is hostile until it is shown
// otherwise: the work is bounded by the size of the input, whatever stands in it, and
// what a reader of the page would not see is left out.
package webpage

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/charmap"
)

// Page is what a server sent, as text.
type Page struct {
	Type string // media type, without parameters
	Text string // valid UTF-8 without NULs
}

// BinaryError says that a body is no text.
type BinaryError struct{ Type string }

func (e *BinaryError) Error() string { return "it is no text but " + e.Type }

// Read makes text of a body with its Content-Type header, which may be empty. base is
// the page's URL, which its links are relative to. The body may end anywhere. The error
// is a *BinaryError.
func Read(contentType string, body []byte, base string) (Page, error) {
	p := Page{Type: mediaType(contentType, body)}
	html := p.Type == "text/html" || p.Type == "application/xhtml+xml"
	if !html && !isText(p.Type) {
		return p, &BinaryError{p.Type}
	}
	text := decode(contentType, body, html)
	switch {
	case html:
		p.Text = markdown(strings.ReplaceAll(text, "\x00", ""), base)
	case strings.ContainsRune(text, 0):
		return p, &BinaryError{p.Type + " with NUL bytes"}
	default:
		p.Text = text
	}
	return p, nil
}

// mediaType is what the header says the body is, or what it looks like.
func mediaType(contentType string, body []byte) string {
	if strings.TrimSpace(contentType) == "" {
		contentType = http.DetectContentType(body)
	}
	if t, _, err := mime.ParseMediaType(contentType); err == nil {
		return t
	}
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// textTypes are types of text whose names do not say so.
var textTypes = []string{
	"application/json", "application/x-ndjson", "application/javascript", "application/x-javascript", "application/ecmascript",
	"application/typescript", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/x-sh",
	"application/sql", "application/graphql", "application/x-www-form-urlencoded",
}

func isText(t string) bool {
	if strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+yaml") {
		return true
	}
	for _, x := range textTypes {
		if t == x {
			return true
		}
	}
	return false
}

// decode brings a body into UTF-8. A declaration in the header or a byte-order mark
// counts; else what is valid UTF-8 is taken for it, whatever a page says of itself.
func decode(contentType string, body []byte, html bool) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	switch {
	case certain || html && name == "iso-2022-jp": // which looks like ASCII
	case validUTF8(body):
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, bom)), "\uFFFD")
	case !html: // what looks like a declaration is part of the text
		enc = charmap.Windows1252
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(text, bom)), "\uFFFD")
}

var bom = []byte("\uFEFF")

// validUTF8 forgives a character that was cut at the end of a text with others like it.
func validUTF8(b []byte) bool {
	if utf8.Valid(b) {
		return true
	}
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if rest := b[:len(b)-back]; utf8.RuneStart(b[len(rest)]) {
			return !utf8.FullRune(b[len(rest):]) && utf8.Valid(rest) && utf8.RuneCount(rest) < len(rest)
		}
	}
	return false
}

// markdown is an HTML page as Markdown; as plain text if it is too wild for that.
func markdown(page, base string) (text string) {
	defer func() {
		if r := recover(); r != nil { // of the converter, over a tree that it did not expect
			text = plain(page)
		}
	}()
	text, err := convert(page, base)
	if err != nil {
		return plain(page)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

var errWild = errors.New("the page has too many parts")
