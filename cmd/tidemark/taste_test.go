package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// banned calls, with what to do instead.
var banned = map[string]string{
	"time.Now":        "pure packages are told the time as an argument",
	"time.Since":      "pure packages are told the time as an argument",
	"time.Sleep":      "pure packages do not wait",
	"sync.Mutex":      "pure packages have one writer or none",
	"sync.RWMutex":    "pure packages have one writer or none",
	"fmt.Println":     "return an error or a value",
	"fmt.Printf":      "return an error or a value",
	"reflect.ValueOf": "spell it out: reflection is slow and hides what is used",
	"maps.Keys":       "map order reaches output; keep a slice, or sort in the same expression",
}

// goroutines start only here.
var starters = []string{
	"actors", "edge", "edge/admin", "edge/pages", "edge/stream", "storage/pace", "actors/cluster",
	"actors/cluster/natstest", "actors/cluster/quota", "actors/cluster/burst", "bench/load", "bench/process", "bench/peers", "bench",
	"bench/mutants", "bench/oracle/backfill", "bench/balancer", "bench/cluster",
	"cmd/tidemark",
}

// drawers are names of files and packages that hold whatever was at hand.
var drawers = []string{"util", "utils", "common", "helpers", "helper", "types", "misc", "shared"}

// topLevel is everything that may stand at the root.
var topLevel = []string{
	"cmd", "actors", "rankings", "storage", "edge", "bench", "Makefile", "go.mod", "go.sum",
	"README.md", "LICENSE", ".ci", ".gitignore",
}

const (
	partedLines   = 15  // from here on a function reads in steps, with a blank line between
	maxFileLines  = 400 // beyond it a file has two subjects
	maxFuncLines  = 70  // one screen
	maxLineLength = 120 // hard; 100 is the aim
)

func TestTaste(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, file := range p.GoFiles {
			checkFile(t, &p, file)
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			checkParagraphs(t, &p, file)
		}
		if len(p.GoFiles) > 0 && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go: write the essay once", p.name())
		}
	}
}

func checkFile(t *testing.T, p *listed, file string) {
	t.Helper()
	path := filepath.Join(p.Dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(string(text), "// Code generated ") {
		return // its generator is what has a style
	}

	at := p.name() + "/" + file
	lines := strings.Split(string(text), "\n")
	if len(lines) > maxFileLines {
		t.Errorf("%s has %d lines; cannot exceed %d", at, len(lines), maxFileLines)
	}

	for n, line := range lines {
		if length := len([]rune(strings.ReplaceAll(line, "\t", "    "))); length > maxLineLength {
			t.Errorf("%s:%d has %d columns; cannot exceed %d", at, n+1, length, maxLineLength)
		}
		if strings.Contains(line, "TODO") || strings.Contains(line, "FIXME") {
			t.Errorf("%s:%d: finish it, or say it in an issue", at, n+1)
		}
	}

	if slices.Contains(drawers, strings.TrimSuffix(file, ".go")) {
		t.Errorf("%s is a drawer: name what is in it", at)
	}

	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		checkNode(t, p, set, n)
		return !sortsKeys(n)
	})
	checkParagraphs(t, p, file)
}

// checkParagraphs finds long functions without a blank line between their steps.
func checkParagraphs(t *testing.T, p *listed, file string) {
	t.Helper()
	path := filepath.Join(p.Dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range solid(t, path, string(text)) {
		t.Errorf("%s/%s: %s has %d lines and more, and no blank line between its steps",
			p.name(), file, name, partedLines)
	}
}

// solid returns the functions of a file that are long and have no paragraphs.
// What is one table or one flat switch is left out: it has no steps.
func solid(t *testing.T, path, text string) (names []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	line := func(p token.Pos) int { return set.Position(p).Line }

	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		from, to := line(f.Pos()), line(f.End())
		length := to - from + 1
		for _, s := range f.Body.List {
			if flat(s) {
				length -= line(s.End()) - line(s.Pos())
			}
		}
		if length >= partedLines && !slices.ContainsFunc(lines[from:to], func(l string) bool {
			return strings.TrimSpace(l) == ""
		}) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// flat reports whether a statement is a table, or a switch whose cases have one
// statement each.
func flat(s ast.Stmt) bool {
	value := func(values []ast.Expr) bool {
		if len(values) != 1 {
			return false
		}
		x := values[0]
		if u, ok := x.(*ast.UnaryExpr); ok {
			x = u.X
		}
		_, table := x.(*ast.CompositeLit)
		return table
	}

	switch s := s.(type) {
	case *ast.ReturnStmt:
		return value(s.Results)
	case *ast.AssignStmt:
		return value(s.Rhs)
	case *ast.SwitchStmt:
		return !slices.ContainsFunc(s.Body.List, func(c ast.Stmt) bool { return len(c.(*ast.CaseClause).Body) > 1 })
	}
	return false
}

// The rule finds what it is about, and nothing else.
func TestParagraphRule(t *testing.T) {
	f := func(body string, want bool) {
		t.Helper()
		source := "package p\nfunc f() {\n" + strings.TrimSpace(body) + "\n}\n"
		if got := len(solid(t, "f.go", source)) > 0; got != want {
			t.Errorf("%q is solid: %v; want %v", body, got, want)
		}
	}
	step := strings.Repeat("f()\n", 7)

	f(step+step, true)
	f(step+"\n"+step, false)
	f(step, false)
	f("x := []int{\n"+strings.Repeat("1,\n", 20)+"}\n_ = x", false)
	f("switch {\n"+strings.Repeat("case true:\nf()\n", 10)+"}", false)
	f("switch {\n"+strings.Repeat("case true:\nf()\nf()\n", 10)+"}", true)
}

// What pure packages must not import is found by the import.
func TestImpureImports(t *testing.T) {
	f := func(name, imported string, want bool) {
		t.Helper()
		if got := impureImport(name, imported); got != want {
			t.Errorf("%s imports %s: %v; want %v", name, imported, got, want)
		}
	}
	f("rankings", "encoding/json", true)
	f("edge/render", "os", true)
	f("rankings", "encoding/binary", false)
	f("edge", "encoding/json", false)
}

func checkNode(t *testing.T, p *listed, set *token.FileSet, n ast.Node) {
	t.Helper()
	switch n := n.(type) {
	case *ast.FuncDecl:
		if lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1; lines > maxFuncLines {
			t.Errorf("%s: %s has %d lines; cannot exceed %d", set.Position(n.Pos()), n.Name.Name, lines, maxFuncLines)
		}

	case *ast.GoStmt:
		if !slices.Contains(starters, p.name()) {
			t.Errorf("%s: goroutines start only in %v", set.Position(n.Pos()), starters)
		}

	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if why := banned[identity(x, ok)+"."+n.Sel.Name]; why != "" && slices.Contains(pure, p.name()) {
			t.Errorf("%s: %s.%s in a pure package: %s", set.Position(n.Pos()), x.Name, n.Sel.Name, why)
		}
	}
}

// sortsKeys tells whether a node is slices.Sorted(maps.Keys(m)), which has an order.
func sortsKeys(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && isCall(call, "slices", "Sorted") && len(call.Args) == 1 && isCall(call.Args[0], "maps", "Keys")
}

func isCall(n ast.Expr, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return f.Sel.Name == name && identity(x, ok) == pkg
}

func identity(x *ast.Ident, ok bool) string {
	if !ok {
		return ""
	}
	return x.Name
}

func TestTasteTopLevel(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skip("not a checkout")
	}
	for name := range strings.FieldsSeq(string(out)) {
		if !slices.Contains(topLevel, name) {
			t.Errorf("%s stands at the root; allowed are %v", name, topLevel)
		}
	}
}
