package webpage

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of what is handed to the converter, some of whose steps grow with the square of
// their input.
const (
	nodesMax   = 20_000    // of a page; one with more becomes plain text
	depthMax   = 100       // elements inside each other; deeper ones become their text
	nestedMax  = 8         // lists and quotations inside each other: each indents every line
	cellsMax   = 10_000    // of a table, filled up to a rectangle
	spanMax    = 10        // rows or columns of one cell
	linksMax   = 128 << 10 // bytes that relative links may grow by; those after it stay relative
	baseMax    = 2 << 10   // bytes of a page's address that links are resolved against
	titleMax   = 300       // bytes
	addressMax = 2 << 10   // bytes of a link; a longer one is left out
)

// unseen are elements whose contents no reader of a page sees, or that are no text.
var unseen = map[string]bool{
	"script": true, "style": true, "noscript": true, "template": true, "iframe": true, "object": true, "embed": true, "svg": true,
	"canvas": true, "audio": true, "video": true, "map": true, "input": true, "select": true, "textarea": true, "dialog": true,
	"noembed": true, "noframes": true, "frameset": true, "link": true, "meta": true,
}

// void elements have no contents and no end.
var void = map[string]bool{"embed": true, "input": true, "link": true, "meta": true}

// cleaner takes out of a tree what is not to be seen, or too much.
type cleaner struct {
	base   *url.URL // nil: links stay as they are
	room   int      // what links may still grow by
	nodes  int
	title  string
	headed bool // there is a heading of the first order
}

func newCleaner(address string) *cleaner {
	c := &cleaner{room: linksMax}
	if u, err := url.Parse(address); err == nil && len(address) <= baseMax {
		c.base = u
	}
	return c
}

// clean looks through what is below n. nested counts lists and quotations around it.
func (c *cleaner) clean(n *html.Node, depth, nested int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		c.nodes++
		switch {
		case child.Type == html.CommentNode, child.Type == html.ElementNode && c.drops(child):
			n.RemoveChild(child)
		case child.Type == html.ElementNode && depth >= depthMax:
			n.InsertBefore(&html.Node{Type: html.TextNode, Data: " " + textOf(child) + " "}, child)
			n.RemoveChild(child)
		case child.Type == html.ElementNode:
			inner := c.element(child, nested)
			c.clean(child, depth+1, inner)
		}
		child = next
	}
}

// drops reports whether an element is left out with all that is in it.
func (c *cleaner) drops(n *html.Node) bool {
	if n.Data == "title" && n.Namespace == "" {
		if c.title == "" {
			c.title = cut(strings.Join(strings.Fields(textOf(n)), " "), titleMax)
		}
		return true
	}
	return unseen[n.Data] || n.Namespace != "" || hidden(n)
}

// hidden reports whether a browser would not show the element, as far as it says so
// itself.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") {
				return true
			}
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			for _, s := range []string{"display:none", "visibility:hidden", "opacity:0;", "font-size:0;", "font-size:0p"} {
				if strings.Contains(style+";", s) {
					return true
				}
			}
		}
	}
	return false
}

// element prepares one element that stays, and returns how far what is in it is nested.
func (c *cleaner) element(n *html.Node, nested int) int {
	switch n.Data {
	case "ul", "ol", "blockquote":
		if nested++; nested > nestedMax {
			rename(n, atom.Div)
		}
	case "h1":
		c.headed = true
	case "li":
		if nested > nestedMax {
			rename(n, atom.Div)
		}
	case "table":
		if tooLarge(n) {
			flatten(n)
		}
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return !keeps(n.Data, a.Key) })
	for i := range n.Attr {
		a := &n.Attr[i]
		switch a.Key {
		case "href", "src":
			a.Val = c.address(a.Val)
		case "colspan", "rowspan":
			a.Val = strconv.Itoa(spanOf(a.Val))
		case "start":
			if v, err := strconv.ParseInt(a.Val, 10, 32); err != nil || v < 0 {
				a.Val = "1"
			}
		}
	}
	return nested
}

// keeps reports whether an attribute says something that a text can.
func keeps(element, key string) bool {
	switch key {
	case "href":
		return element == "a"
	case "src", "alt":
		return element == "img"
	case "colspan", "rowspan", "align":
		return element == "td" || element == "th"
	case "start":
		return element == "ol"
	case "class":
		return element == "code" || element == "pre"
	}
	return false
}

// address is a link in full. What is no address of a page is left out.
func (c *cleaner) address(ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || len(ref) > addressMax {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https", "mailto":
		return u.String()
	case "":
	default:
		return "" // javascript:, data: and the like
	}
	if c.base == nil || strings.HasPrefix(ref, "#") {
		return u.String()
	}
	full := c.base.ResolveReference(u).String()
	if c.room -= len(full) - len(ref); c.room < 0 {
		return u.String()
	}
	return full
}

func spanOf(text string) int {
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || v < 1 {
		return 1
	}
	return min(v, spanMax)
}

// tooLarge reports whether a table, filled up to a rectangle, has too many cells.
func tooLarge(t *html.Node) bool {
	rows, columns, down := 0, 0, 0
	for n := range t.Descendants() {
		switch {
		case n.Type != html.ElementNode || n.Data != "tr":
			continue
		}
		rows++
		width := 0
		for cell := range n.ChildNodes() {
			wide, high := 1, 1
			for _, a := range cell.Attr {
				switch a.Key {
				case "colspan":
					wide = spanOf(a.Val)
				case "rowspan":
					high = spanOf(a.Val)
				}
			}
			width += wide
			if high > 1 {
				down += wide // may push the cells of rows below aside
			}
		}
		columns = max(columns, width)
	}
	return rows*(columns+down) > cellsMax
}

// flatten makes blocks of a table's parts.
func flatten(t *html.Node) {
	for n := range t.Descendants() {
		switch n.Data {
		case "tr", "thead", "tbody", "tfoot", "caption", "colgroup":
			rename(n, atom.Div)
		case "td", "th":
			rename(n, atom.Span)
			n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
		}
	}
	rename(t, atom.Div)
}

func rename(n *html.Node, to atom.Atom) {
	if n.Type == html.ElementNode {
		n.DataAtom, n.Data = to, to.String()
	}
}

// textOf is the text of an element that a reader would see.
func textOf(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for child := range n.ChildNodes() {
			switch {
			case child.Type == html.TextNode:
				b.WriteString(child.Data)
			case child.Type == html.ElementNode && !unseen[child.Data] && !hidden(child):
				walk(child)
			}
		}
	}
	walk(n)
	return b.String()
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
