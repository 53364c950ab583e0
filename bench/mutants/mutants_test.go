package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

import (
	"context"
	"errors"
	"log/slog"
	"math/bits"
)

func f(a, b int, list []byte) (int, error) {
	if a < b && b > 3 {
		return a, nil
	}
	list = append(list, byte(a))
	if a == 7 || b == 7 || a == b {
		b++
	}
	g(a, b)
	a += 2
	_, err := f(b, a, append(list, 1))
	list = append(append(list, 2), 3)
	if err != nil {
		return 0, err
	}
	return a - b, nil
}

func g(int, int) { _ = point{x: 1, y: 2} }

type point struct{ x, y int }

func h(a, b uint64, e, f error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	ctx, end := context.WithCancel(ctx)
	defer end()
	_, a = bits.Add64(a, b, 0)
	if e != nil && a > 5 {
		slog.Info("five", "a", a)
	}
	return errors.Join(e, f, ctx.Err())
}
`

// parsed is the source as a package of the tree.
func parsed(t *testing.T) (*tree, *pkg) {
	t.Helper()
	tr, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}
	p := &pkg{ImportPath: "p", name: "p", GoFiles: []string{"p.go"}}
	if err := tr.check(p, []byte(source)); err != nil {
		t.Fatal(err)
	}
	return tr, p
}

// TestFind looks for one mistake of every kind, and checks that each compiles.
func TestFind(t *testing.T) {
	tr, p := parsed(t)
	found := findMistakes(tr, p, 0)
	for _, want := range []string{
		"a < b -> a <= b", "b > 3 -> b >= 3", "b > 3 -> b > 3+1", "a < b && b > 3 -> b > 3",
		"a < b && b > 3 -> false", "a < b && b > 3 -> true", "list = append(list, byte(a)) -> nothing",
		"append(list, 1) -> list", "g(a, b) -> nothing", "g(a, b) -> g(b <-> a, b)", "a += 2 -> the other sign",
		"err != nil -> false: the error is ignored", "a - b -> a + b", "x: 1 -> left out of point",
		"a == 7 || b == 7 || a == b -> a == b", "defer end() -> nothing",
	} {
		if !slices.ContainsFunc(found, func(m *mistake) bool { return m.was+" -> "+m.is == want }) {
			t.Errorf("%s is not found", want)
		}
	}
	for _, m := range found { // what changes nothing, or changes something without the mistake too
		if m.was == "append(append(list, 2), 3)" || strings.Contains(m.was, "a > 5") || m.was == "defer cancel()" || strings.Contains(m.is, "bits.Add64(b <->") || strings.Contains(m.is, "errors.Join(f <->") {
			t.Errorf("%s -> %s is found", m.was, m.is)
		}
	}

	for i, m := range found {
		m.id = i + 1
		text := write(p.texts[0], m)
		if !tr.compiles(p, 0, text) || strings.Count(string(text), "\n") != strings.Count(source, "\n") {
			t.Errorf("%s -> %s does not compile, or moves lines:\n%s", m.was, m.is, text)
		}
		// All that is left of the last || is left out, not only the part beside it.
		if m.was == "a == 7 || b == 7 || a == b" && m.is == "a == b" &&
			!strings.Contains(string(text), "((a == 7 || b == 7) && !planted.At(") {
			t.Errorf("%s -> %s is written as\n%s", m.was, m.is, text)
		}
	}
}

// TestReport counts by package, and lists what passed with its line.
func TestReport(t *testing.T) {
	p, q := &pkg{name: "p"}, &pkg{name: "q"}
	sample := []*mistake{
		{pkg: p}, {pkg: p}, {pkg: p, path: "p/p.go", line: 7, function: "f", was: "a < b", is: "a <= b"},
		{pkg: q}, {pkg: q}, {pkg: q},
	}

	var out strings.Builder
	printReport(&out, sample, []outcome{noticed, noticed, passed, same, open, noticed}, []string{"p.TestX"})
	for _, want := range []string{
		"p                               2        1          0          0   66.7 %\n",
		"q                               1        0          1          1         \n",
		"total                           3        1          1          1         \n",
		"left out, as they fail in this build without a mistake: p.TestX",
		"p/p.go:7 f: passed\n  - a < b\n  + a <= b\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
}

// TestEquivalents reads what is known, and refuses an entry without a reason.
func TestEquivalents(t *testing.T) {
	if list, err := readEquivalents(known); err != nil || len(list) == 0 {
		t.Errorf("%d known: %v", len(list), err)
	}
	m := &mistake{path: "p/p.go", function: "f", was: "a", is: "b"}
	if list, err := readEquivalents("# why\np/p.go\tf\ta\tb\tno one can tell\n"); err != nil || !list[m.name()] {
		t.Errorf("read %v, %v", list, err)
	}
	for _, text := range []string{"p/p.go\tf\ta\tb", "p/p.go\tf\ta\tb\t ", "p/p.go"} {
		if _, err := readEquivalents(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestKnownCanBeMade checks that everything in equivalents.txt is still a mistake that
// could be made: what it is about may have been changed since.
func TestKnownCanBeMade(t *testing.T) {
	tr, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}
	all, err := findAll(tr, tr.measured(nil))
	if err != nil {
		t.Fatal(err)
	}
	list, err := readEquivalents(known)
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range all {
		delete(list, m.name())
	}
	for name := range list {
		t.Errorf("no such mistake can be made: %s", name)
	}
}

// TestBrokenRulesCanBeMade checks that every rule that make e2e-wrong breaks is still in
// the source, once, and that the package compiles without it.
func TestBrokenRulesCanBeMade(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../oracle/mistakes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []struct{ Name, File, Find, Put string }
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	tr, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}

	for _, rule := range rules {
		p := tr.packages[module+path.Dir(rule.File)]
		if p == nil {
			t.Errorf("%s: no package has %s", rule.Name, rule.File)
			continue
		}
		if p.texts == nil {
			if err := tr.parse(p); err != nil {
				t.Fatal(err)
			}
		}

		i := slices.Index(p.GoFiles, path.Base(rule.File))
		if i < 0 {
			t.Errorf("%s: there is no %s", rule.Name, rule.File)
			continue
		}
		if n := bytes.Count(p.texts[i], []byte(rule.Find)); n != 1 {
			t.Errorf("%s: %s has the text %d times, not once:\n%s", rule.Name, rule.File, n, rule.Find)
			continue
		}
		broken := bytes.Replace(p.texts[i], []byte(rule.Find), []byte(rule.Put), 1)
		if !tr.compiles(p, i, broken) {
			t.Errorf("%s: %s does not compile with\n%s", rule.Name, rule.File, rule.Put)
		}
	}
	if len(rules) == 0 {
		t.Error("no rule is broken")
	}
}
