package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"hecate/domain/event"
)

// module is the path that imports of ours begin with.
const module = "hecate"

// typeDoc is what the source says about a type and reflection does not know.
type typeDoc struct {
	doc    string
	fields map[string]string // Go field → its comment
	values []string          // the constants of a string type, in order of the source
}

// source reads the comments of our packages, each package once.
type source struct {
	root     string
	packages map[string]map[string]typeDoc // import path → type name
}

func newSource(root string) *source {
	return &source{root: root, packages: map[string]map[string]typeDoc{}}
}

// of returns what the source says about t; the zero value for types that are not ours.
func (s *source) of(t reflect.Type) (typeDoc, error) {
	pkg := t.PkgPath()
	if !strings.HasPrefix(pkg, module+"/") {
		return typeDoc{}, nil
	}
	if s.packages[pkg] == nil {
		types, err := readPackage(s.root, pkg)
		if err != nil {
			return typeDoc{}, fmt.Errorf("read package %s: %w", pkg, err)
		}
		s.packages[pkg] = types
	}
	return s.packages[pkg][t.Name()], nil
}

func readPackage(root, pkg string) (map[string]typeDoc, error) {
	fset := token.NewFileSet()
	files, err := parseFolder(fset, filepath.Join(root, strings.TrimPrefix(pkg, module+"/")))
	if err != nil {
		return nil, err
	}
	p, err := doc.NewFromFiles(fset, files, pkg, doc.AllDecls|doc.PreserveAST)
	if err != nil {
		return nil, err
	}
	types := map[string]typeDoc{}
	for _, t := range p.Types {
		types[t.Name] = typeDoc{doc: oneLine(t.Doc), fields: fieldComments(t), values: stringConstants(t)}
	}
	return types, nil
}

func parseFolder(fset *token.FileSet, dir string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// fieldComments takes the comment behind a field, or else the one above it.
func fieldComments(t *doc.Type) map[string]string {
	out := map[string]string{}
	for _, spec := range t.Decl.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if !ok || ts.Name.Name != t.Name {
			continue
		}
		st, ok := ts.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			text := oneLine(f.Comment.Text())
			if text == "" {
				text = oneLine(f.Doc.Text())
			}
			for _, name := range f.Names {
				out[name.Name] = text
			}
		}
	}
	return out
}

func stringConstants(t *doc.Type) []string {
	var out []string
	for _, group := range t.Consts {
		for _, spec := range group.Decl.Specs {
			vs, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			if id, ok := vs.Type.(*ast.Ident); !ok || id.Name != t.Name {
				continue
			}
			for _, v := range vs.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err == nil {
						out = append(out, text)
					}
				}
			}
		}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// checkComplete compares the event types that the source of domain declares with
// those that this program knows. What is missing is not defined, or its package
// is not imported by main.go.
func checkComplete(root string) error {
	known := map[string]bool{}
	for _, d := range event.Definitions() {
		known[d.GoType().PkgPath()+"."+d.GoType().Name()] = true
	}
	declared, err := declaredEvents(root)
	if err != nil {
		return err
	}
	var missing []error
	for _, name := range declared {
		if !known[name] {
			missing = append(missing, fmt.Errorf("%s has an EventType, but no event.Define that gendocs links", name))
		}
	}
	return errors.Join(missing...)
}

// declaredEvents lists the types below domain that have a method EventType.
func declaredEvents(root string) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(root), "domain", func(p string, d fs.DirEntry, err error) error {
		// domain/event itself declares no facts, only the payload of those it does not know.
		if err != nil || !d.IsDir() || p == "domain/event" {
			return err
		}
		files, err := parseFolder(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(p)))
		for _, f := range files {
			for _, decl := range f.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "EventType" {
					if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
						out = append(out, path.Join(module, p)+"."+id.Name)
					}
				}
			}
		}
		return err
	})
	sort.Strings(out)
	return out, err
}
