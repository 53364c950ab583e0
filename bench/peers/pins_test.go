package main

import (
	"os"
	"regexp"
	"testing"
)

// What this module shares with the product is of the same version: it is the
// product's code that runs here, on the libraries that it was tested with.
func TestPins(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)
	read := func(path string) map[string]string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		versions := map[string]string{}
		for _, m := range line.FindAllStringSubmatch(string(b), -1) {
			versions[m[1]] = m[2]
		}
		return versions
	}

	ours, product := read("go.mod"), read("../../go.mod")
	if product["github.com/valyala/fasthttp"] == "" || ours["github.com/valyala/fasthttp"] == "" {
		t.Fatal("no fasthttp is required")
	}
	for module, version := range ours {
		if want := product[module]; want != "" && want != version {
			t.Errorf("%s is %s here, and %s in the product", module, version, want)
		}
	}
}
