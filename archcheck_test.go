package hecate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that imports of ours begin with.
const module = "hecate"

// finding is one place that breaks a rule.
type finding struct {
	path string // of the file, or of the folder for what concerns a package
	line int
	rule string // one word: import, adapter, stdlib, pure, random, time, print, name, comment
	text string
}

// source is one parsed Go file.
type source struct {
	path, dir string
	top       string // first folder of dir
	test      bool   // a _test.go file, or part of a package that only serves tests
	file      *ast.File
	fset      *token.FileSet
	found     []finding
}

func (s *source) report(at token.Pos, rule, text string) {
	s.found = append(s.found, finding{s.path, s.fset.Position(at).Line, rule, text})
}

// check parses every Go file of ours below root and returns what breaks a rule.
func check(t *testing.T, root fs.FS) []finding {
	t.Helper()
	var found []finding
	commented := map[string]bool{} // package folder → some file has a good package comment
	for _, s := range parseAll(t, root) {
		if s.dir == "." && s.test {
			continue // these rules themselves
		}
		s.checkPackage()
		s.checkImports()
		if !s.test {
			s.checkCalls()
			s.checkComments()
		}
		if !strings.HasSuffix(s.path, "_test.go") {
			commented[s.dir] = commented[s.dir] || opensWell(s)
		}
		found = append(found, s.found...)
	}
	for dir, ok := range commented {
		if !ok {
			found = append(found, finding{dir, 1, "comment", `no file opens with "Package name …" (or "Command name …")`})
		}
	}
	return found
}

func parseAll(t *testing.T, root fs.FS) []*source {
	t.Helper()
	var out []*source
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (d.Name()[0] == '.' || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(p) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		s := &source{path: p, dir: path.Dir(p), fset: token.NewFileSet()}
		s.top, _, _ = strings.Cut(s.dir, "/")
		s.test = strings.HasSuffix(p, "_test.go") || strings.HasSuffix(s.dir, "test")
		s.file, err = parser.ParseFile(s.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		out = append(out, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func opensWell(s *source) bool {
	doc, name := s.file.Doc.Text(), s.file.Name.Name
	if name == "main" {
		return strings.HasPrefix(doc, "Command "+path.Base(s.dir)+" ")
	}
	return strings.HasPrefix(doc, "Package "+name+" ")
}

func (s *source) checkPackage() {
	if _, known := layers[s.top]; !known && !s.test {
		s.report(s.file.Package, "import", "the folder "+s.top+" is not in the import table")
	}
	if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, s.file.Name.Name) {
		s.report(s.file.Package, "name", "call a package by what it gives, not "+s.file.Name.Name)
	}
}

func (s *source) checkImports() {
	for _, spec := range s.file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil { // the parser has seen to that
			continue
		}
		if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
			s.checkOurs(spec.Pos(), ours)
			continue
		}
		if s.test {
			continue
		}
		first, _, _ := strings.Cut(imp, "/")
		if slices.Contains(stdlibOnly, s.top) && strings.Contains(first, ".") {
			s.report(spec.Pos(), "stdlib", s.top+" needs no module but the standard library, not "+imp)
		}
		if s.top == "domain" && slices.Contains(impure, imp) {
			s.report(spec.Pos(), "pure", "domain has no input or output, so it does not import "+imp)
		}
		if slices.Contains([]string{"crypto/rand", "math/rand", "github.com/google/uuid"}, imp) && !s.mayBeRandom() {
			s.report(spec.Pos(), "random", "ids are handed in, so "+s.dir+" does not import "+imp)
		}
	}
}

func (s *source) checkOurs(at token.Pos, imp string) {
	top, _, _ := strings.Cut(imp, "/")
	if top != s.top && !slices.Contains(layers[s.top], top) {
		s.report(at, "import", s.top+" may not import "+imp)
	}
	if s.test || s.top == "cmd" {
		return
	}
	if strings.HasSuffix(imp, "test") {
		s.report(at, "import", imp+" is for tests only")
	}
	for _, a := range adapters {
		if strings.HasPrefix(imp, a) && !strings.HasPrefix(s.dir, strings.TrimSuffix(a, "/")+"/") && s.dir != a {
			s.report(at, "adapter", "only cmd names "+imp)
		}
	}
}

func (s *source) mayBeRandom() bool {
	for dir := range random {
		if s.dir == dir || strings.HasPrefix(s.dir, dir+"/") {
			return true
		}
	}
	return false
}

// checkComments asks for a comment on what other packages can use. One comment may
// stand for declarations that follow each other without an empty line.
func (s *source) checkComments() {
	above := -1 // the line that the declaration before ends on, if a comment covers it
	for _, decl := range s.file.Decls {
		doc, name := declared(decl)
		first, last := s.fset.Position(decl.Pos()).Line, s.fset.Position(decl.End()).Line
		covered := doc != nil || above == first-1
		if !covered && ast.IsExported(name) {
			s.report(decl.Pos(), "comment", name+" has no comment")
		}
		above = -1
		if covered {
			above = last
		}
	}
}

// declared returns the comment and the name of a declaration; for a group, its first undocumented exported name.
func declared(decl ast.Decl) (doc *ast.CommentGroup, name string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return d.Doc, ""
		}
		if d.Recv != nil && (d.Name.Name == "Error" || d.Name.Name == "Unwrap") {
			return d.Doc, "" // everybody knows what they do
		}
		return d.Doc, d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Doc == nil && ast.IsExported(spec.Name.Name) {
					return d.Doc, spec.Name.Name
				}
			case *ast.ValueSpec:
				if spec.Doc == nil && spec.Comment == nil && ast.IsExported(spec.Names[0].Name) {
					return d.Doc, spec.Names[0].Name
				}
			}
		}
		return d.Doc, ""
	}
	return nil, ""
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// written are the methods that turn a time into something to keep or to show.
var written = []string{
	"UTC", "Local", "In", "Unix", "UnixMicro", "UnixMilli", "UnixNano", "Format", "AppendFormat", "String", "Truncate", "Round",
}

// checkCalls looks for time that is written down and for printing.
func (s *source) checkCalls() {
	called := map[ast.Expr]bool{} // what stands before the parentheses of a call
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "println" || id.Name == "print") {
				s.report(n.Pos(), "print", "use log/slog")
			}
		case *ast.SelectorExpr:
			s.checkSelector(n, called[n])
		}
		return true
	})
}

func (s *source) checkSelector(n *ast.SelectorExpr, isCalled bool) {
	name := n.Sel.Name
	switch {
	case s.is(n.X, "fmt") && strings.HasPrefix(name, "Print") && s.top != "cmd":
		s.report(n.Pos(), "print", "only cmd prints; use log/slog")
	case s.is(n.X, "time") && (name == "Now" || name == "Since" || name == "Until"):
		if slices.Contains(timeless, s.top) {
			s.report(n.Pos(), "time", s.top+" takes a clock.Clock instead of time."+name)
		} else if name == "Now" && !isCalled {
			s.report(n.Pos(), "time", "hand in a clock.Clock instead of time.Now")
		}
	case slices.Contains(written, name) && s.isNow(n.X):
		s.report(n.Pos(), "time", "time.Now is for measuring; what is kept or shown comes from a clock.Clock")
	}
}

// isNow reports whether x is the call time.Now().
func (s *source) isNow(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Now" && s.is(sel.X, "time")
}

// is reports whether x is the name under which the file imports pkg.
func (s *source) is(x ast.Expr, pkg string) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	for _, spec := range s.file.Imports {
		if imp, err := strconv.Unquote(spec.Path.Value); err == nil && imp == pkg {
			return spec.Name == nil && id.Name == pkg || spec.Name != nil && id.Name == spec.Name.Name
		}
	}
	return false
}
