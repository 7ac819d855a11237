package webpage_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"hecate/tools/webpage"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPagesBecomeMarkdown(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, file := range pages {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := webpage.Read("text/html; charset=utf-8", body, "https://docs.example/guide/start.html?v=1#top")
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".html") + ".md"
		if *update {
			if err := os.WriteFile(golden, []byte(p.Text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if p.Text+"\n" != string(want) {
			t.Errorf("%s:\n%s", file, p.Text)
		}
	}
}

func TestTypes(t *testing.T) {
	for _, c := range []struct{ header, body, want, binary string }{
		{"application/json", `{"a":"ä"}`, `{"a":"ä"}`, ""},
		{"application/vnd.x+json; charset=utf-8", "[]", "[]", ""},
		{"text/plain", "<p>as it is", "<p>as it is", ""},
		{"text/plain", `<meta charset="shift_jis">` + "\xe4", `<meta charset="shift_jis">ä`, ""},
		{"text/plain; charset=iso-8859-1", "caf\xe9", "café", ""},
		{"text/plain", strings.Repeat("a", 2000) + "é", strings.Repeat("a", 2000) + "é", ""},
		{"text/plain; charset=utf-16le", "h\x00i\x00", "hi", ""},
		{"text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8", "При", ""},
		{"text/html", "<meta charset=iso-2022-jp><p>\x1b$B$3\x1b(B", "こ", ""},
		{"text/html; charset=shift_jis", "\x82\xa0", "あ", ""},
		{"", "<!doctype html><p>x", "x", ""},
		{"", "plain", "plain", ""},
		{"TEXT/CSV;bad", "a,b", "a,b", ""},
		{"text/plain", "\uFEFFx\r\n", "x\r\n", ""},
		{"", "", "", ""},
		{"text/plain", "a\x00b", "", "text/plain with NUL bytes"},
		{"image/png", "x", "", "image/png"},
		{"", "\x89PNG\r\n\x1a\n", "", "image/png"},
		{"application/octet-stream", "x", "", "application/octet-stream"},
	} {
		p, err := webpage.Read(c.header, []byte(c.body), "https://x.example/")
		var b *webpage.BinaryError
		if errors.As(err, &b) != (c.binary != "") || b != nil && b.Type != c.binary {
			t.Errorf("%q %.40q: %v, want %q", c.header, c.body, err, c.binary)
		}
		if err == nil && p.Text != c.want {
			t.Errorf("%q %.40q: got %.60q, want %.60q", c.header, c.body, p.Text, c.want)
		}
	}
}

// wild are pages that are made to be expensive, of about a size.
func wild(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	row := "<tr>" + strings.Repeat("<td>", size/8) + "</tr>"
	return map[string]string{
		"deep div": fill("<div>"), "deep quote": fill("<blockquote>"), "deep list": fill("<ul><li>x"), "deep bold": fill("<b>x"), "deep font": fill("<font>"),
		"many bold": fill("<b>x</b>"), "many em in bold": fill("<b><em>x</em></b> "), "many code": fill("<code>x</code> "), "many links": fill("<a href=x>y</a>"),
		"many empty code": fill("<code></code>"), "many li": fill("<li>x"), "many br": "<ul><li><blockquote>" + fill("x<br>"), "many comments": fill("<!-- -->"),
		"many spans": fill("<td colspan=1000 rowspan=65534>x"), "a table of spans": "<table>" + fill("<tr><td colspan=65534 rowspan=65534>x"),
		"a wide and high table": "<table>" + row + fill("<tr><td>x"), "nested tables": fill("<table><tr><td>x"), "a big cell": "<table><tr><td>" + fill("x") + strings.Repeat("<tr><td>y", 2000),
		"many headings": fill("<h1>x<h2>y"), "links in headings": fill("<a href=z><h1>x</h1></a>"), "pre": "<pre>" + fill("<code>`</code>"), "backticks": "<code>" + fill("`"),
		"entities": fill("&#0;&lt;&nbsp"), "NULs": fill("\x00"), "spaces": fill(" <i> "), "open tag": "<a " + fill("a=b "), "newlines": "<p>" + fill("\n<br>\n"),
		"stars": fill("*_"), "svg": fill("<svg><p>"), "select": fill("<select><option>x"), "template": fill("<template><p>"), "frameset": "<frameset>" + fill("<frame>"),
		"formatting": fill("<a><b><i><u><p>"), "text between": fill("a<i></i>b"), "images": fill("<img src=a alt=b>"), "definition": fill("<dl><dt>a<dd>b"),
	}
}

func TestWildPagesStaySmall(t *testing.T) {
	for name, page := range wild(64 << 10) {
		p, err := webpage.Read("text/html", []byte(page), "https://"+strings.Repeat("a", 60)+".example/"+strings.Repeat("b/", 500))
		if err != nil || !utf8.ValidString(p.Text) || strings.ContainsRune(p.Text, 0) || len(p.Text) > 1<<20 {
			t.Errorf("%s: %d bytes, %v", name, len(p.Text), err)
		}
	}
}

func BenchmarkWildPages(b *testing.B) {
	for name, page := range wild(256 << 10) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := webpage.Read("text/html", []byte(page), "https://x.example/a/b"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, page := range wild(400) {
		f.Add("text/html", []byte(page))
	}
	f.Add("text/plain; charset=utf-16", []byte("a\x00"))
	f.Add("", []byte("\xff\xfe<\x00"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		if len(body) > 16<<10 {
			return
		}
		p, err := webpage.Read(contentType, body, "https://x.example/a")
		if err != nil {
			return
		}
		if !utf8.ValidString(p.Text) || strings.ContainsRune(p.Text, 0) || len(p.Text) > 64*len(body)+64<<10 {
			t.Errorf("%d bytes became %d", len(body), len(p.Text))
		}
	})
}
