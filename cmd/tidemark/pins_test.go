package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Another dependency asks for an old fasthttp: without the explicit require
// the build falls back to it silently.
func TestPins(t *testing.T) {
	f := func(path, want string) {
		t.Helper()
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", path).Output()
		if err != nil {
			t.Fatalf("cannot list %s: %s", path, err)
		}
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("%s is %s; pinned is %s", path, got, want)
		}
	}

	f("github.com/anthdm/hollywood", "v1.0.5")
	f("github.com/dgraph-io/ristretto/v2", "v2.4.2")
	f("github.com/cockroachdb/pebble/v2", "v2.1.7")
	f("github.com/valyala/fasthttp", "v1.74.0")
	f("github.com/VictoriaMetrics/metrics", "v1.44.0")
	f("github.com/ethereum/go-ethereum", "v1.17.10")
	f("github.com/holiman/uint256", "v1.3.2")
}

// What the module of bench/peers shares with the product is of the same version:
// it is the product's code that runs there, on the libraries that it was tested
// with.
func TestPinsOfPeers(t *testing.T) {
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

	ours, product := read("../../bench/peers/go.mod"), read("../../go.mod")
	if product["github.com/valyala/fasthttp"] == "" || ours["github.com/valyala/fasthttp"] == "" {
		t.Fatal("no fasthttp is required")
	}
	for module, version := range ours {
		if want := product[module]; want != "" && want != version {
			t.Errorf("%s is %s in bench/peers, and %s in the product", module, version, want)
		}
	}
}
