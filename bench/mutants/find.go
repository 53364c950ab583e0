package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// mistake is one small change of a file: what a reader would see, and the text that
// makes it when its number is named. @id stands for the number.
type mistake struct {
	id             int
	pkg            *pkg
	file, line     int
	path, function string
	was, is        string
	from, to       int // what the text replaces
	text           string
}

// finder walks one file.
type finder struct {
	t        *tree
	p        *pkg
	file     int
	function string
	timeouts map[types.Object]bool // functions that end a context with a timeout
	found    []*mistake
}

// findMistakes returns every mistake that could be made in a file.
func findMistakes(t *tree, p *pkg, file int) []*mistake {
	f := &finder{t: t, p: p, file: file, timeouts: map[types.Object]bool{}}
	for _, d := range p.files[file].Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}

		f.function = fn.Name.Name
		if fn.Recv != nil {
			f.function = strings.TrimLeft(f.text(fn.Recv.List[0].Type), "*") + "." + f.function
		}
		ast.Inspect(fn.Body, f.noteTimeout)
		ast.Inspect(fn.Body, f.visit)
	}
	return f.found
}

// visit notes the mistakes at a node, and reports whether to look inside it: not
// in a line of the log or in what decides on one, nor in a capacity, which changes nothing.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.CallExpr:
		if f.logs(n) || f.text(n.Fun) == "make" && (len(n.Args) == 3 || strings.HasPrefix(f.text(n.Args[0]), "map")) {
			return false
		}
		f.call(n)

	case *ast.CompositeLit:
		f.composite(n)
	case *ast.IfStmt:
		if f.decidesLog(n) {
			return false
		}
		f.check(n)
	case *ast.BlockStmt:
		f.removals(n.List)
	case *ast.CaseClause:
		f.removals(n.Body)
	case *ast.CommClause:
		f.removals(n.Body)
	case *ast.AssignStmt:
		f.assign(n)
	case *ast.ReturnStmt:
		f.results(n)
	}
	return true
}

// nearDigits is how long a number may be for one more to make a difference.
const nearDigits = 3

var bounds = map[token.Token][2]string{
	token.LSS: {"Under", "<="}, token.LEQ: {"UpTo", "<"},
	token.GTR: {"Over", ">="}, token.GEQ: {"From", ">"},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.p.info.Types[n].Value != nil {
		return
	}
	x, y := f.text(n.X), f.text(n.Y)
	for _, side := range []ast.Expr{n.X, n.Y} {
		if lit, ok := side.(*ast.BasicLit); ok && lit.Kind == token.INT && len(lit.Value) <= nearDigits &&
			n.Op != token.SHL && n.Op != token.SHR {
			more := lit.Value + "+1"
			if n.Op == token.SUB && side == n.Y {
				more = "(" + more + ")"
			}
			f.wrap(n, strings.TrimSpace(f.replaced(n, lit, more)), lit, "planted.Off(@id, ", ")")
		}
	}

	switch other, bound := bounds[n.Op]; {
	case bound:
		after := n.OpPos + token.Pos(len(n.Op.String()))
		f.add(n, x+" "+other[1]+" "+y, n.Pos(), n.End(), "planted."+other[0]+"(@id, "+
			f.between(n.Pos(), n.OpPos)+","+f.between(after, n.End())+")")
	case n.Op == token.ADD && f.number(n):
		f.wrap(n, x+" - "+y, n.Y, "planted.Neg(@id, ", ")")
	case n.Op == token.SUB && f.number(n):
		f.wrap(n, x+" + "+y, n.Y, "planted.Neg(@id, ", ")")
	case n.Op == token.LAND:
		f.wrap(n, y, n.X, "(", " || planted.At(@id))")
		f.wrap(n, x, n.Y, "(", " || planted.At(@id))")
	case n.Op == token.LOR:
		f.wrap(n, y, n.X, "((", ") && !planted.At(@id))")
		f.wrap(n, x, n.Y, "(", " && !planted.At(@id))")
	}
}

// call swaps arguments of one type, unless their order changes nothing, and leaves out what is
// appended to bytes.
func (f *finder) call(n *ast.CallExpr) {
	name := f.text(n.Fun)
	if strings.HasPrefix(name, "fmt.") {
		return
	}
	if !f.commutes(n) {
		f.swaps(n, n.Args)
	}

	if len(n.Args) < 2 || !strings.Contains(strings.ToLower(name), "append") || calls(n.Args[0]) {
		return // read once more, what is appended to would be written over
	}
	if t := f.p.info.Types[n].Type; t != nil && t.String() == "[]byte" {
		dst := f.text(n.Args[0])
		f.wrap(n, dst, n, "planted.Pick(@id, ", ", "+dst+")")
	}
}

// commutes reports whether a call is the same with its arguments in another order: a sum,
// a product, a comparison, the smallest or the largest.
func (f *finder) commutes(n *ast.CallExpr) bool {
	name := f.text(n.Fun)
	switch name {
	case "min", "max", "bits.Add64", "bits.Mul64", "errors.Join":
		return true
	}

	if sel, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(f.typeOf(sel.X), "/uint256.Int") {
		switch sel.Sel.Name {
		case "Add", "AddOverflow", "Mul", "MulOverflow":
			return true
		}
	}
	return strings.HasSuffix(name, "Equal")
}

// typeOf names the type of an expression, or of what it points to.
func (f *finder) typeOf(x ast.Expr) string {
	t := f.p.info.Types[x].Type
	if t == nil {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.Unalias(t).String()
}

// swaps exchanges neighbours of one type that are read without a call.
func (f *finder) swaps(n ast.Node, list []ast.Expr) {
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		s, t := f.p.info.Types[a], f.p.info.Types[b]
		if s.Type == nil || t.Type == nil || !types.Identical(s.Type, t.Type) || s.Value != nil || t.Value != nil ||
			s.IsNil() || calls(a) || calls(b) || f.text(a) == f.text(b) {
			continue
		}
		x, y := f.text(a), f.text(b)
		f.add(n, f.replaced(n, a, y+" <-> "+x), a.Pos(), b.End(), "planted.Pick(@id, "+x+", "+y+")"+
			f.between(a.End(), b.Pos())+"planted.Pick(@id, "+y+", "+x+")")
	}
}

// composite leaves out a field of a struct.
func (f *finder) composite(n *ast.CompositeLit) {
	t := f.p.info.Types[n].Type
	if t == nil {
		return
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}

	for _, e := range n.Elts {
		value := e
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			value = kv.Value
		}
		f.wrap(e, "left out of "+f.text(n.Type), value, "planted.Zero(@id, ", ")")
	}
}

// calls reports whether reading an expression twice may do something twice.
func calls(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.CallExpr, *ast.FuncLit, *ast.CompositeLit:
			found = true
		}
		return !found
	})
	return found
}

// logs reports whether a call only writes the log.
func (f *finder) logs(n *ast.CallExpr) bool {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	return ok && (f.typeOf(sel.X) == "log/slog.Logger" || f.text(sel.X) == "slog")
}

// decidesLog reports whether an if only writes the log.
func (f *finder) decidesLog(n *ast.IfStmt) bool {
	for _, s := range n.Body.List {
		line, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		if call, ok := line.X.(*ast.CallExpr); !ok || !f.logs(call) {
			return false
		}
	}
	return n.Init == nil && n.Else == nil && !calls(n.Cond)
}
