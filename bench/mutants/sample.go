package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/bench/mutants/planted"
)

// benchFiles are the command's part of the bench, which is no part of the product.
const benchFiles = "cmd/tidemark/bench"

// findAll returns every mistake that could be made in packages.
func findAll(t *tree, packages []*pkg) (all []*mistake, err error) {
	for _, p := range packages {
		if err := t.parse(p); err != nil {
			return nil, fmt.Errorf("cannot check the types of %s: %w", p.name, err)
		}
		for i, text := range p.texts {
			if !bytes.HasPrefix(text, []byte("// Code generated ")) {
				all = append(all, findMistakes(t, p, i)...)
			}
		}
	}
	return all, nil
}

// takeSample chooses mistakes that compile and do not overlap, the same for the
// same seed and tree, and orders them by package, the packages as the seed has it.
func takeSample(t *tree, packages []*pkg, size int, seed string) ([]*mistake, error) {
	all, err := findAll(t, packages)
	if err != nil {
		return nil, err
	}

	// By a hash of each, so that a change of the code moves few in or out, and the
	// sample of a part is part of the sample.
	drawn := make(map[*mistake][sha256.Size]byte, len(all))
	for _, m := range all {
		drawn[m] = sha256.Sum256([]byte(seed + "\t" + m.name()))
	}
	slices.SortStableFunc(all, func(a, b *mistake) int {
		x, y := drawn[a], drawn[b]
		return bytes.Compare(x[:], y[:])
	})

	var list []*mistake
	var order []*pkg
	for _, m := range all {
		if len(list) == min(size, planted.Max-1) {
			break
		}
		if strings.HasPrefix(m.path, benchFiles) || slices.ContainsFunc(list, m.overlaps) ||
			!t.compiles(m.pkg, m.file, write(m.pkg.texts[m.file], m)) {
			continue
		}
		list = append(list, m)
		m.id = len(list)
		if !slices.Contains(order, m.pkg) {
			order = append(order, m.pkg)
		}
	}
	slices.SortStableFunc(list, func(a, b *mistake) int {
		return slices.Index(order, a.pkg) - slices.Index(order, b.pkg)
	})
	return list, nil
}

func (m *mistake) overlaps(o *mistake) bool {
	return m.path == o.path && m.from <= o.to && o.from <= m.to
}

// write returns the text of a file with mistakes behind their switches. Lines keep
// their numbers.
func write(text []byte, list ...*mistake) []byte {
	var out []byte
	at := 0
	byPlace := func(a, b *mistake) int { return a.from - b.from }
	for _, m := range slices.SortedFunc(slices.Values(list), byPlace) {
		out = append(out, text[at:m.from]...)
		out = append(out, strings.ReplaceAll(m.text, "@id", strconv.Itoa(m.id))...)
		at = m.to
	}
	out = append(out, text[at:]...)
	clause := bytes.Index(out, []byte("\npackage ")) + 1
	end := clause + bytes.IndexByte(out[clause:], '\n')
	return slices.Insert(out, end, []byte(`; import planted "tidemark/bench/mutants/planted"`)...)
}

// writeOverlay writes the files of a sample into a directory, and the list of them
// that go test reads.
func writeOverlay(dir string, sample []*mistake) (string, error) {
	files := map[string][]*mistake{}
	for _, m := range sample {
		path := filepath.Join(m.pkg.Dir, m.pkg.GoFiles[m.file])
		files[path] = append(files[path], m)
	}

	replace := map[string]string{}
	for path, list := range files {
		name := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(name, write(list[0].pkg.texts[list[0].file], list...), 0o600); err != nil {
			return "", err
		}
		replace[path] = name
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}
