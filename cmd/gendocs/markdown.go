package main

import (
	"bytes"
	"fmt"
	"strings"

	"hecate/domain/event"
)

const preamble = `<!-- Written by cmd/gendocs (go generate ./...). Do not edit. -->

# Events

Every fact that the log can hold, as it is recorded. The declarations are in ` + "`domain`" + `; this page is made from them.

A reader must accept types and members that it does not know: newer versions add them. A type's *schema* counts the
changes that a reader of old records could not cope with; old records stay as they are and are lifted when they are read.

Integers are 64 bits wide. Names end in their unit: ` + "`_ms`" + ` is milliseconds, ` + "`_bytes`" + ` bytes, ` + "`_micros_usd`" + ` and
` + "`_pico_usd`" + ` millionths and trillionths of a US dollar. An *optional* member is left out when it is empty.

Where a secret of the server stood in an event, ` + "`[secret NAME]`" + ` does, and ` + "`secrets_withheld`" + ` at the end of the record lists the names.

## Texts

A text holds any bytes of any length and is recorded in one of three forms. Interfaces that show events show the
first form where the bytes are valid UTF-8.

| form | when |
| --- | --- |
| ` + "`\"…\"`" + ` | valid UTF-8, up to %d bytes |
| ` + "`{\"base64\": \"…\"}`" + ` | bytes that are no UTF-8, up to the same length |
| ` + "`{\"blob\": \"…\", \"size\": n, \"media_type\": \"…\"}`" + ` | longer ones: the salted SHA-256, in hexadecimal, of content that is kept beside the log |

## All events

| event | stream | schema | what it says |
| --- | --- | --- | --- |
`

// markdown writes the page. It depends on nothing but the catalogue.
func (c *catalogue) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, preamble, event.InlineMax)
	for _, e := range c.events {
		fmt.Fprintf(&b, "| [`%s`](#%s) | `%s` | %d | %s |\n", e.name, anchor(e.name), e.stream, e.schema, cell(firstSentence(e.doc)))
	}
	for _, e := range c.events {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\nStream `%s`, schema %d, `%s`.\n\n", e.name, e.doc, e.stream, e.schema, e.goName)
		writeMembers(&b, e.members)
		fmt.Fprintf(&b, "\n```json\n%s\n```\n", e.sample)
	}
	b.WriteString("\n# Types\n\nWhat the members above are made of.\n")
	for _, name := range c.typeNames() {
		e := c.types[name]
		fmt.Fprintf(&b, "\n## Type `%s`\n\n", name)
		if e.doc != "" {
			fmt.Fprintf(&b, "%s\n\n", e.doc)
		}
		writeMembers(&b, e.members)
	}
	return b.Bytes()
}

func writeMembers(b *bytes.Buffer, members []member) {
	if len(members) == 0 {
		b.WriteString("It has no members.\n")
		return
	}
	b.WriteString("| member | type | | meaning |\n| --- | --- | --- | --- |\n")
	for _, m := range members {
		optional := ""
		if m.optional {
			optional = "optional"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", m.name, cell(m.kind), optional, cell(m.meaning))
	}
}

// cell makes s fit into a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// firstSentence cuts after the first full stop that ends a sentence.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// anchor is what readers of Markdown make of a heading: lower case, no dots, no blanks.
func anchor(heading string) string {
	return strings.NewReplacer(".", "", " ", "-").Replace(strings.ToLower(heading))
}

func typeAnchor(name string) string { return anchor("type " + name) }
