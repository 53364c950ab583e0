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
		f.add(n.Cond, "false: the error is ignored", f.wrap(n.Cond, "(", ") && !planted.At(#)")...)
		return
	}
	f.add(n.Cond, "false", f.wrap(n.Cond, "(", ") && !planted.At(#)")...)
	f.add(n.Cond, "true", f.wrap(n.Cond, "(", ") || planted.At(#)")...)
}

// removals leaves out statements that do something and declare nothing.
func (f *finder) removals(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || f.logs(call) || f.text(call.Fun) == "panic" {
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
		case *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.GoStmt:
		default:
			continue
		}
		f.add(s, "nothing", f.wrap(s, "if !planted.At(#) { ", " }")...)
	}
}

// assign swaps values that are written together, and turns the sign of a sum.
func (f *finder) assign(n *ast.AssignStmt) {
	f.swaps(n, n.Rhs)
	if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && f.number(n.Rhs[0]) {
		f.add(n, "the other sign", f.wrap(n.Rhs[0], "planted.Neg(#, ", ")")...)
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
			f.add(r, "!("+f.text(r)+")", f.wrap(r, "(", ") != planted.At(#)")...)
		}
	}
}

func (f *finder) isError(x ast.Expr) bool {
	t := f.p.info.Types[x].Type
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// add notes a mistake at a node.
func (f *finder) add(n ast.Node, is string, edits ...edit) {
	m := &mistake{
		pkg: f.p, file: f.file, function: f.function, edits: edits,
		line: f.t.set.Position(n.Pos()).Line, path: f.p.name + "/" + f.p.GoFiles[f.file],
		was: strings.Join(strings.Fields(f.text(n)), " "), is: strings.Join(strings.Fields(is), " "),
		from: edits[0].at, to: edits[0].at,
	}
	for _, e := range edits {
		m.from, m.to = min(m.from, e.at), max(m.to, e.at+e.cut)
	}
	f.found = append(f.found, m)
}

func (f *finder) offset(pos token.Pos) int { return f.t.set.Position(pos).Offset }

func (f *finder) text(n ast.Node) string {
	if n == nil {
		return "" // the type of an element of a composite literal
	}
	return string(f.p.texts[f.file][f.offset(n.Pos()):f.offset(n.End())])
}

// replaced is the text of a node with another text of a part of it.
func (f *finder) replaced(n, part ast.Node, text string) string {
	whole, at := f.text(n), f.offset(part.Pos())-f.offset(n.Pos())
	return whole[:at] + text + whole[at+len(f.text(part)):]
}

func (f *finder) insert(pos token.Pos, text string) edit { return edit{f.offset(pos), 0, text} }

// wrap puts text around a node. A constant is given the type it has there, as
// else it would get its default type as an argument.
func (f *finder) wrap(n ast.Node, before, after string) []edit {
	if x, ok := n.(ast.Expr); ok && strings.Contains(before, "planted.") {
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
	return []edit{f.insert(n.Pos(), before), f.insert(n.End(), after)}
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
