package main

import (
	"bytes"
	"os"
	"testing"
)

// TestTypes holds the committed types against the document.
func TestTypes(t *testing.T) {
	files, err := generate("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		committed, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, f.text) {
			t.Errorf("%s is not what the document says; run go run ./edge/client/typegen", f.path)
		}
	}
}
