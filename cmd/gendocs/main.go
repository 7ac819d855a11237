// Command gendocs writes docs/reference from the declarations in domain, and
// docs/tools.md from the tools that are built in, so that both say what the code does.
// Run it with go generate ./...
package main

//go:generate go run . -root ../..

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	// The subjects that define events. A missing one is reported: see checkComplete.
	_ "hecate/domain/erasure"
	_ "hecate/domain/logkey"
	_ "hecate/domain/operation"
	_ "hecate/domain/retention"
	_ "hecate/domain/run"
	_ "hecate/domain/task"
)

func main() {
	root := flag.String("root", ".", "root folder of the module")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	for file, page := range map[string]func(root string) ([]byte, error){
		"reference/events.md": eventsPage, "tools.md": toolsPage,
	} {
		text, err := page(root)
		if err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		path := filepath.Join(root, "docs", filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// eventsPage is the whole of events.md.
func eventsPage(root string) ([]byte, error) {
	src := newSource(root)
	if err := checkComplete(root); err != nil {
		return nil, err
	}
	cat, err := newCatalogue(src)
	if err != nil {
		return nil, err
	}
	return cat.markdown(), nil
}
