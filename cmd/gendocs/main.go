// Command gendocs writes docs/reference from the declarations in domain, so that
// the catalogue of events says what the code does. Run it with go generate ./...
package main

//go:generate go run . -root ../..

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	// The subjects that define events. A missing one is reported: see checkComplete.
	_ "hecate/domain/operation"
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
	page, err := eventsPage(root)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "docs", "reference")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "events.md"), page, 0o644)
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
