package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// output is a file that typegen writes, from the root of the repository.
type output struct {
	path string
	text []byte
}

const documentPath = "edge/openapi.json"

func main() {
	files, err := generate(".")
	for _, f := range files {
		if err == nil {
			err = os.WriteFile(f.path, f.text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate returns the files for the document under root.
func generate(root string) ([]output, error) {
	text, err := os.ReadFile(filepath.Join(root, documentPath))
	if err != nil {
		return nil, err
	}
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	types, err := golang(doc)
	if err != nil {
		return nil, fmt.Errorf("cannot format the Go types: %w", err)
	}
	return []output{
		{filepath.Join(root, "edge/client/go/schema.go"), types},
		{filepath.Join(root, "edge/client/ts/src/schema.ts"), typescript(doc)},
	}, nil
}
