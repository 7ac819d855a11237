package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/tools"
	"hecate/tools/builtin"
)

const toolsPreamble = `<!-- Written by cmd/gendocs (go generate ./...). Do not edit. -->

# Tools

What the agent can call, as this version registers it. Levels, policies and answers are explained in
[permissions.md](permissions.md), settings in [operating.md](operating.md).

- Arguments are one JSON object. Members that a tool does not know are ignored. A value of another type, a member that
  comes twice, more than 64 levels, or text that is no Unicode is refused with ` + "`invalid arguments for <tool>: …`" + ` before anything
  happens. A number above its range counts as the largest, one below it as left out; ` + "`null`" + ` counts as left out.
- Paths are relative to the workspace; tools that write also take an absolute one that lies in it. No path leads out of
  it, and links are not followed out of it either.
- Every failure is a result that the model reads, and the run goes on. A call that names no tool is answered with
  ` + "`unknown tool: <name>`" + `.
- Names and texts of others stand in results as they are, or as a JSON string where they hold what could be taken for the
  result around them. A result that does not hold everything says so.
- A call is cancelled with its run. Commands end with all that they have started.

`

// toolsPage is the whole of tools.md.
func toolsPage(root string) ([]byte, error) {
	offered := append(builtin.All(), builtin.WebSearch(builtin.Search{Provider: builtin.SearchProviders()[0]}))
	var b bytes.Buffer
	b.WriteString(toolsPreamble)
	b.WriteString("| tool | what it does | level | in the posture runtime it asks |\n| --- | --- | --- | --- |\n")
	for _, x := range offered {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", x.Name, anchor(x.Name), cell(plain(firstSentence(x.Summary))), levelWord(permission.Posture{}.Level(call(x))), policiesOf(x))
	}
	for _, x := range offered {
		if err := writeTool(&b, root, x); err != nil {
			return nil, fmt.Errorf("describe tool %s: %w", x.Name, err)
		}
	}
	b.WriteString("\n# Direct tasks\n\nTasks of the kinds shell, git and file make one call of a tool that no model is offered.\n")
	for _, x := range builtin.Direct() {
		if err := writeTool(&b, root, x); err != nil {
			return nil, fmt.Errorf("describe tool %s: %w", x.Name, err)
		}
	}
	return b.Bytes(), nil
}

func writeTool(b *bytes.Buffer, root string, x tools.Tool) error {
	about, ok := results[x.Name]
	if !ok {
		return errors.New("there is no word about its results in results.go")
	}
	fmt.Fprintf(b, "\n## `%s`\n\n%s\n\n", x.Name, plain(x.Summary))
	if err := writeArguments(b, x); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nResult: %s\n\n", about)
	writeRules(b, x)
	return writeExamples(b, root, x)
}

func writeArguments(b *bytes.Buffer, x tools.Tool) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(x.Schema, &s); err != nil {
		return err
	}
	if len(s.Properties) == 0 {
		b.WriteString("It takes no arguments.\n")
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	place := func(name string) int { return bytes.Index(x.Schema, []byte(`"`+name+`":{`)) } // as the tool declares them
	slices.SortFunc(names, func(a, b string) int { return place(a) - place(b) })
	b.WriteString("| argument | type | | meaning |\n| --- | --- | --- | --- |\n")
	for _, name := range names {
		p, presence := s.Properties[name], ""
		switch {
		case slices.Contains(s.Required, name):
			presence = "required"
		case p.Default != nil:
			presence = "default `" + string(p.Default) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, cell(typeOf(p)), presence, cell(plain(p.Description)))
	}
	return nil
}

// plain is a text for a model as Markdown that shows it as it is.
func plain(s string) string { return strings.NewReplacer(`\`, `\\`, "*", `\*`).Replace(s) }

// typeOf is the type of an argument with its limits.
func typeOf(p *jsonschema.Schema) string {
	switch {
	case p.Enum != nil:
		words := make([]string, len(p.Enum))
		for i, w := range p.Enum {
			words[i] = fmt.Sprintf("`%v`", w)
		}
		return strings.Join(words, ", ")
	case p.Items != nil:
		return "list of " + p.Items.Type + "s"
	case p.AdditionalProperties != nil:
		return "object of " + p.AdditionalProperties.Type + "s"
	case p.Minimum != nil && p.Maximum != nil:
		return fmt.Sprintf("%s, %.0f to %.0f", p.Type, *p.Minimum, *p.Maximum)
	case p.Minimum != nil:
		return fmt.Sprintf("%s, at least %.0f", p.Type, *p.Minimum)
	}
	return p.Type
}

// call is one that the rules can judge: of a tool for URLs one of a public host.
func call(x tools.Tool) permission.Call {
	c := permission.Call{Tool: x.Name}
	if x.Name == "web_fetch" || x.Name == "http_request" {
		c.Facts.Principal = "https://a.example/"
	}
	return c
}

func levelWord(level int) string {
	return []string{"0, silent", "1, visible", "2, asks"}[level]
}

// policiesOf are the runtime policies that make a call wait.
func policiesOf(x tools.Tool) string {
	if permission.Decide(call(x), permission.Posture{}).Decision == permission.Ask {
		return "always"
	}
	var names []string
	for _, p := range []permission.Policy{
		permission.PolicyShell, permission.PolicyGit, permission.PolicyWrite, permission.PolicyNetwork, permission.PolicyRead, permission.PolicyAll,
	} {
		if permission.Decide(call(x), permission.Posture{Policies: []permission.Policy{p}}).Decision == permission.Ask {
			names = append(names, "`"+string(p)+"`")
		}
	}
	return "under " + strings.Join(names, ", ")
}

// writeRules says what the decision makes of a call, as the decision itself tells.
func writeRules(b *bytes.Buffer, x tools.Tool) {
	c := call(x)
	levels := permission.Posture{Name: permission.PostureLevels}
	fmt.Fprintf(b, "- In the posture levels: %s", levelWord(levels.Level(c)))
	levels.InPlace = true
	if l := levels.Level(c); l != levels.Level(permission.Call{Tool: x.Name, Propose: true}) {
		fmt.Fprintf(b, "; %s with `workspace_mode=in_place`", levelWord(l))
	}
	listed := c
	listed.Facts.Principal = "https://docs.rs/"
	if l := levels.Level(listed); l != levels.Level(c) {
		fmt.Fprintf(b, "; %s for a listed host", levelWord(l))
	}
	fmt.Fprintf(b, ".\n- In the posture runtime it asks: %s.\n", policiesOf(x))
	denied := func(p permission.Posture) bool { return permission.Decide(c, p).Decision == permission.Deny }
	c.Propose = true
	proposes := denied(permission.Posture{ReadOnly: true})
	c.Propose = false
	switch {
	case x.Direct:
	case proposes:
		b.WriteString("- Refused in a read-only task.\n")
	case denied(permission.Posture{ReadOnly: true}):
		b.WriteString("- In a read-only task only with `propose`.\n")
	}
	if denied(permission.Posture{NetworkOff: true}) {
		b.WriteString("- Needs network: refused where a preset has none.\n")
	}
	if denied(permission.Posture{Workflow: "qa"}) && !x.Direct {
		b.WriteString("- Refused in a report-only task.\n")
	}
	if !(permission.Posture{}).Offered(x.Name) {
		b.WriteString("- Offered only where somebody is attached who can answer.\n")
	}
	if name := pattern.Canonical(x.Name); name != x.Name {
		fmt.Fprintf(b, "- In permission files it is called `%s`.\n", name)
	}
}

// writeExamples shows a call that is carried out and one that is not, as the tests of the
// tools have written them down.
func writeExamples(b *bytes.Buffer, root string, x tools.Tool) error {
	raw, err := os.ReadFile(filepath.Join(root, "tools", "builtin", "testdata", "calls", x.Name+".txt"))
	if err != nil {
		return err
	}
	shown := map[bool]bool{}
	for part := range strings.SplitSeq(string(raw), "\n\n") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		if len(lines) < 3 {
			continue
		}
		done := strings.HasPrefix(lines[1], "completed")
		if shown[done] {
			continue
		}
		shown[done] = true
		fmt.Fprintf(b, "\n```text\n%s\n", lines[0])
		for _, l := range lines[2:] {
			b.WriteString(strings.TrimRight("  "+strings.TrimPrefix(strings.TrimPrefix(l, "|"), " "), " ") + "\n")
		}
		b.WriteString("```\n")
	}
	if !shown[true] {
		return errors.New("its file of calls has none that is carried out")
	}
	return nil
}
