package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/tools/builtin"
)

func TestThePageOfToolsIsUpToDate(t *testing.T) {
	want, err := toolsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("docs/tools.md is not what the tools say (-written +now): run go generate ./...\n%s", diff)
	}
}

func TestEveryToolIsOnThePage(t *testing.T) {
	page, err := toolsPage(root)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, x := range append(builtin.All(), builtin.Direct()...) {
		names[x.Name] = true
		_, section, found := strings.Cut(string(page), "\n## `"+x.Name+"`\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || strings.Count(section, "```text") != 2 || strings.Count(section, "\nResult: ") != 1 {
			t.Errorf("the section of %s is %q", x.Name, section)
		}
	}
	for name := range results {
		if !names[name] && name != "web_search" {
			t.Errorf("there is no tool %s", name)
		}
	}
}
