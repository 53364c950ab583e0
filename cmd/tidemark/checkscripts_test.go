package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckScripts: what every market script leaves behind agrees with itself.
func TestCheckScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/markets/*.market")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".market"), func(t *testing.T) {
			s := overHTTP(newStage(t))
			s.redo = false
			runMarket(t, name, s)
			s.ask(s, "/health", "")
			report := checkServed(t, s.url, s.key)
			for i := range report.Listed {
				// The scripts' tokens have the addresses of their names, in no order.
				if d := &report.Listed[i]; d.Rule != "fields" || d.Field != "token0.address" {
					t.Error(d)
				}
			}
		})
	}
}
