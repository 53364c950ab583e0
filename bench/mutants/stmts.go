package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// check leaves out what an if does, or does it always.
func (f *finder) check(n *ast.IfStmt) {
	was := f.text(n.Cond)
	if was == "err != nil" {
		f.wrap(n.Cond, "false: the error is ignored", n.Cond, "(", ") && !planted.At(@id)")
		return
	}
	f.wrap(n.Cond, "false", n.Cond, "(", ") && !planted.At(@id)")
	f.wrap(n.Cond, "true", n.Cond, "(", ") || planted.At(@id)")
}

// removals leaves out statements that do something and declare nothing.
func (f *finder) removals(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || f.logs(call) || f.text(call.Fun) == "panic" || f.endsTimeout(call) {
				continue
			}

		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || f.text(s.Lhs[0]) == "_" {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.CONTINUE && s.Tok != token.BREAK {
				continue
			}
		case *ast.DeferStmt:
			if f.endsTimeout(s.Call) {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		default:
			continue
		}
		f.wrap(s, "nothing", s, "if !planted.At(@id) { ", " }")
	}
}

// noteTimeout notes what ends a context that ends by itself.
func (f *finder) noteTimeout(n ast.Node) bool {
	s, ok := n.(*ast.AssignStmt)
	if !ok || len(s.Lhs) != 2 || len(s.Rhs) != 1 {
		return true
	}
	if call := f.text(s.Rhs[0]); !strings.HasPrefix(call, "context.WithTimeout(") &&
		!strings.HasPrefix(call, "context.WithDeadline(") {
		return true
	}
	if end, ok := s.Lhs[1].(*ast.Ident); ok {
		f.timeouts[f.objectOf(end)] = true
	}
	return true
}

// endsTimeout reports whether a call ends a context before its timeout does, which only
// gives memory back sooner.
func (f *finder) endsTimeout(n *ast.CallExpr) bool {
	name, ok := n.Fun.(*ast.Ident)
	return ok && f.timeouts[f.objectOf(name)]
}

func (f *finder) objectOf(name *ast.Ident) types.Object {
	if o := f.p.info.Defs[name]; o != nil {
		return o
	}
	return f.p.info.Uses[name]
}

// assign swaps values that are written together, and turns the sign of a sum.
func (f *finder) assign(n *ast.AssignStmt) {
	f.swaps(n, n.Rhs)
	if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && f.number(n.Rhs[0]) {
		f.wrap(n, "the other sign", n.Rhs[0], "planted.Neg(@id, ", ")")
	}
}

// results swaps what is returned, and turns what is true or false.
func (f *finder) results(n *ast.ReturnStmt) {
	if last := len(n.Results) - 1; last < 1 || f.text(n.Results[last]) == "nil" || !f.isError(n.Results[last]) {
		f.swaps(n, n.Results) // beside an error nothing is read
	}
	for _, r := range n.Results {
		v := f.p.info.Types[r]
		if v.Type != nil && v.Value == nil && types.Identical(v.Type.Underlying(), types.Typ[types.Bool]) {
			f.wrap(r, "!("+f.text(r)+")", r, "(", ") != planted.At(@id)")
		}
	}
}

func (f *finder) isError(x ast.Expr) bool {
	t := f.p.info.Types[x].Type
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// add notes a mistake at a node, which replaces a piece of the file.
func (f *finder) add(n ast.Node, is string, from, to token.Pos, text string) {
	f.found = append(f.found, &mistake{
		pkg: f.p, file: f.file, function: f.function,
		line: f.t.set.Position(n.Pos()).Line, path: f.p.name + "/" + f.p.GoFiles[f.file],
		was: strings.Join(strings.Fields(f.text(n)), " "), is: strings.Join(strings.Fields(is), " "),
		from: f.offset(from), to: f.offset(to), text: text,
	})
}

func (f *finder) offset(pos token.Pos) int { return f.t.set.Position(pos).Offset }

func (f *finder) text(n ast.Node) string {
	if n == nil {
		return "" // the type of an element of a composite literal
	}
	return f.between(n.Pos(), n.End())
}

func (f *finder) between(from, to token.Pos) string {
	return string(f.p.texts[f.file][f.offset(from):f.offset(to)])
}

// replaced is the text of a node with another text of a part of it.
func (f *finder) replaced(n, part ast.Node, text string) string {
	whole, at := f.text(n), f.offset(part.Pos())-f.offset(n.Pos())
	return whole[:at] + text + whole[at+len(f.text(part)):]
}

// wrap notes a mistake that is text around a part of a node. A constant is given the
// type it has there, as else it would get its default type as an argument.
func (f *finder) wrap(n ast.Node, is string, part ast.Node, before, after string) {
	if x, ok := part.(ast.Expr); ok && strings.Contains(before, "planted.") {
		if v := f.p.info.Types[x]; v.Value != nil {
			name := types.TypeString(v.Type, func(p *types.Package) string {
				if p == f.p.types {
					return ""
				}
				return p.Name()
			})
			before, after = before+name+"(", ")"+after
		}
	}
	f.add(n, is, part.Pos(), part.End(), before+f.text(part)+after)
}

// number reports whether an expression has a sign.
func (f *finder) number(x ast.Expr) bool {
	t := f.p.info.Types[x].Type
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}
