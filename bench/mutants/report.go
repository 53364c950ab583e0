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

		at := max(strings.LastIndexByte(line, '\t'), 0)
		name, reason := line[:at], line[at:]
		if strings.Count(name, "\t") != 3 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("cannot read equivalents.txt:%d: want file, function, was, is and reason", n+1)
		}
		list[name] = true
	}
	return list, nil
}

func (m *mistake) name() string {
	return strings.Join([]string{m.path, m.function, m.was, m.is}, "\t")
}

// printReport prints the table by package, and each mistake that passed.
func printReport(w io.Writer, sample []*mistake, results []outcome, left []string) {
	counts := map[string]map[outcome]int{"total": {}}
	var names []string
	for i, m := range sample {
		if counts[m.pkg.name] == nil {
			counts[m.pkg.name] = map[outcome]int{}
			names = append(names, m.pkg.name)
		}
		counts[m.pkg.name][results[i]]++
		counts["total"][results[i]]++
	}

	slices.Sort(names)
	fmt.Fprintf(w, "%-24s %8s %8s %10s %10s %8s\n", "package", "noticed", "passed", "equivalent", "not tried", "share")
	for _, name := range append(names, "total") {
		// A share of what was settled would flatter: what passes takes longest.
		n, share := counts[name], ""
		if settled := n[noticed] + n[passed] + n[unseen]; settled > 0 && n[open] == 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(n[noticed])/float64(settled))
		}
		fmt.Fprintf(w, "%-24s %8d %8d %10d %10d %8s\n",
			name, n[noticed], n[passed]+n[unseen], n[same], n[open], share)
	}

	if len(left) > 0 {
		fmt.Fprintf(w, "\nleft out, as they fail in this build without a mistake: %s\n", strings.Join(left, ", "))
	}
	fmt.Fprintf(w, "\n%d passed:\n", counts["total"][passed]+counts["total"][unseen])
	for i, m := range sample {
		if results[i] == passed || results[i] == unseen {
			fmt.Fprintf(w, "%s:%d %s: %s\n  - %s\n  + %s\n", m.path, m.line, m.function, results[i], m.was, m.is)
		}
	}
}
