package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "tidemark/"

// outside is what is not measured: tools of the build, of the bench and of tests, and the
// simulated market, whose made-up numbers have no right value.
var outside = []string{
	"bench", "edge/client/typegen", "edge/docs", "edge/consistency", "actors/feed/sim", "actors/cluster/natstest",
}

// pkg is a package as go list tells it, and what the type checker made of it.
type pkg struct {
	ImportPath, Dir, Export                     string
	GoFiles, Imports, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports                   []string
	name                                        string // place in the tree
	files                                       []*ast.File
	texts                                       [][]byte
	info                                        *types.Info
	types                                       *types.Package
}

// tree is the module.
type tree struct {
	packages map[string]*pkg
	set      *token.FileSet
	imports  types.Importer
}

func loadTree() (*tree, error) {
	out, err := exec.Command("go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,Imports,TestGoFiles,XTestGoFiles,TestImports,XTestImports",
		module+"...").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list packages: %w", err)
	}
	t := &tree{packages: map[string]*pkg{}, set: token.NewFileSet()}

	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		p := &pkg{}
		if err := dec.Decode(p); err != nil {
			return nil, fmt.Errorf("cannot read the list of packages: %w", err)
		}
		p.name = strings.TrimPrefix(p.ImportPath, module)
		t.packages[p.ImportPath] = p
	}

	t.imports = importer.ForCompiler(t.set, "gc", func(path string) (io.ReadCloser, error) {
		p := t.packages[path]
		if p == nil {
			return nil, fmt.Errorf("cannot import %s: not listed", path)
		}
		return os.Open(p.Export)
	})
	return t, nil
}

// measured are the product's packages by name, only those below the given names
// if there are any.
func (t *tree) measured(only []string) (list []*pkg) {
	in := func(name string, places []string) bool {
		return slices.ContainsFunc(places, func(place string) bool {
			return name == place || strings.HasPrefix(name, place+"/")
		})
	}
	for path, p := range t.packages {
		if strings.HasPrefix(path, module) && !in(p.name, outside) && (len(only) == 0 || in(p.name, only)) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *pkg) int { return strings.Compare(a.name, b.name) })
	return list
}

// parse reads a package's files and checks their types.
func (t *tree) parse(p *pkg) error {
	var texts [][]byte
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	return t.check(p, texts...)
}

// check checks the types of a package's texts.
func (t *tree) check(p *pkg, texts ...[]byte) error {
	p.texts = texts
	for i, text := range texts {
		file, err := parser.ParseFile(t.set, filepath.Join(p.Dir, p.GoFiles[i]), text, 0)
		if err != nil {
			return err
		}
		p.files = append(p.files, file)
	}

	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: t.imports}
	checked, err := config.Check(p.ImportPath, t.set, p.files, p.info)
	p.types = checked
	return err
}

// compiles reports whether a package still does with another text of one file.
func (t *tree) compiles(p *pkg, file int, text []byte) bool {
	parsed, err := parser.ParseFile(t.set, "", text, 0)
	if err != nil {
		return false
	}
	files := slices.Clone(p.files)
	files[file] = parsed

	config := types.Config{Importer: t.imports}
	_, err = config.Check(p.ImportPath, t.set, files, nil)
	return err == nil
}
