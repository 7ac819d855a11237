package webpage

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// convert makes Markdown of a page. Nothing is escaped: it is read, not rendered.
func convert(page, address string) (string, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil { // nested too deep
		return "", err
	}
	c := newCleaner(address)
	c.clean(doc, 0, 0)
	if c.nodes > nodesMax {
		return "", errWild
	}
	conv := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip), commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip)),
		// To pad every cell to the widest one would multiply a table's size.
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	conv.Register.TextTransformer(func(_ converter.Context, text string) string { return unescape.Replace(text) }, converter.PriorityLate)
	text, err := conv.ConvertNode(doc)
	if err != nil {
		return "", err
	}
	return c.titled(string(text)), nil
}

// unescape takes back what the converter does to texts for the sake of renderers.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">")

// titled puts the page's title in front if the text has no heading of its own.
func (c *cleaner) titled(text string) string {
	if c.title == "" || c.headed {
		return text
	}
	return "# " + c.title + "\n\n" + text
}

// blocks are elements that stand on lines of their own.
var blocks = map[string]bool{
	"address": true, "article": true, "aside": true, "blockquote": true, "br": true, "dd": true, "div": true, "dl": true, "dt": true,
	"fieldset": true, "figure": true, "footer": true, "form": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true,
	"header": true, "hr": true, "li": true, "main": true, "nav": true, "ol": true, "p": true, "pre": true, "section": true, "table": true, "tr": true, "ul": true,
}

// plain is the text of a page without its structure. It looks at each byte once.
func plain(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	skip := "" // the element whose contents are left out
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.TrimSpace(b.String())
		}
		name, _ := z.TagName()
		switch tag := string(name); {
		case kind == html.StartTagToken && skip == "" && unseen[tag] && !void[tag]:
			skip = tag
		case kind == html.EndTagToken && tag == skip:
			skip = ""
		case skip != "":
		case kind == html.TextToken:
			writeText(&b, string(z.Text()))
		case blocks[tag] && !strings.HasSuffix(b.String(), "\n"):
			b.WriteByte('\n')
		}
	}
}

// writeText adds a text with its white space shortened.
func writeText(b *strings.Builder, text string) {
	words := strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	if words == "" {
		return
	}
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte(' ')
	}
	b.WriteString(words)
}
