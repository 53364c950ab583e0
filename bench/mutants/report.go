package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

// known are the mistakes that change nothing: file, function, what it was and what
// it is, and the reason, with tabs between.
//
//go:embed equivalents.txt
var known string

// readEquivalents returns the known mistakes by what names them.
func readEquivalents(text string) (map[string]bool, error) {
	list := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := cutLast(line, "\t")
		if strings.Count(name, "\t") != 3 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("cannot read equivalents.txt:%d: want file, function, was, is and reason", n+1)
		}
		list[name] = true
	}
	return list, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (m *mistake) name() string {
	return strings.Join([]string{m.path, m.function, m.was, m.is}, "\t")
}

// printReport prints the table by package, and each mistake that passed.
func printReport(w io.Writer, sample []*mistake, results []outcome, left []string) {
	type row struct{ noticed, passed, same, open, hung int }
	rows := map[string]*row{}
	total := &row{}
	for i, m := range sample {
		if rows[m.pkg.name] == nil {
			rows[m.pkg.name] = &row{}
		}
		for _, r := range []*row{rows[m.pkg.name], total} {
			switch results[i] {
			case noticed:
				r.noticed++
			case hung:
				r.noticed++
				r.hung++
			case passed, unseen:
				r.passed++
			case same:
				r.same++
			default:
				r.open++
			}
		}
	}

	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	line := func(name string, r *row) {
		// A share of what was settled would flatter: what passes takes longest.
		share := ""
		if n := r.noticed + r.passed; n > 0 && r.open == 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(r.noticed)/float64(n))
		}
		fmt.Fprintf(w, "%-24s %8d %8d %10d %10d %8s\n", name, r.noticed, r.passed, r.same, r.open, share)
	}
	fmt.Fprintf(w, "%-24s %8s %8s %10s %10s %8s\n", "package", "noticed", "passed", "equivalent", "not tried", "share")
	for _, name := range names {
		line(name, rows[name])
	}
	line("total", total)
	fmt.Fprintf(w, "%d of the noticed hung\n", total.hung)

	if len(left) > 0 {
		fmt.Fprintf(w, "\nleft out, as they fail in this build without a mistake: %s\n", strings.Join(left, ", "))
	}
	fmt.Fprintf(w, "\n%d passed:\n", total.passed)
	for i, m := range sample {
		if results[i] == passed || results[i] == unseen {
			fmt.Fprintf(w, "%s:%d %s: %s\n  - %s\n  + %s\n", m.path, m.line, m.function, results[i], m.was, m.is)
		}
	}
}
