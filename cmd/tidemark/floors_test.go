package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "tidemark/"

// floors lists every package from the ground up. A package imports only
// packages of lower floors, so the list is also the order in which to read.
var floors = [][]string{
	{
		"rankings/ahead", "rankings/clmath", "rankings/block", "rankings/texts", "storage/pace",
		"storage/database", "storage/disktest", "bench/report",
		"bench/mutants/planted",
		"edge/consistency", "edge/docs", "edge/telemetry", "edge/client/go", "edge/client/typegen",
	},
	{"rankings/market", "storage/accounts", "edge/ui", "bench/process", "bench/mutants"},
	{"rankings/index", "rankings/field", "rankings/ledger", "rankings/value", "rankings/script", "storage/accountstore", "actors/feed", "actors/feed/endpoint", "actors/cluster/natstest", "bench/load", "bench/balancer"},
	{"rankings", "rankings/chart", "storage", "actors/feed/sim", "actors/feed/rpc", "actors/feed/archive"},
	{"actors/chain", "actors/verify", "actors/feed/cryo", "storage/registry", "edge/query", "edge/render"},
	{"edge/gate", "edge/pages", "edge/admin", "edge/stream", "actors/cluster"},
	{"actors", "actors/cluster/directory", "actors/cluster/burst", "actors/cluster/quota", "edge"},
	{"bench/corpus"},
	{"bench/peers", "bench/oracle/backfill", "bench/cluster"},
	{"bench"},
	{"cmd/tidemark", "cmd/tidemark/torture"},
}

// owners names the only packages that may import a heavy dependency.
var owners = map[string][]string{
	"github.com/anthdm/hollywood":      {"actors"},
	"github.com/cockroachdb/pebble":    {"storage", "storage/accountstore", "storage/database", "storage/disktest"},
	"github.com/dgraph-io/ristretto":   {"edge/pages"},
	"github.com/valyala/fasthttp":      {"edge", "edge/gate", "bench/load", "bench/balancer", "bench/peers"},
	"github.com/ethereum/go-ethereum":  {"actors/feed/endpoint", "bench/oracle/backfill"},
	"github.com/holiman/uint256":       {"rankings/clmath"},
	"github.com/parquet-go/parquet-go": {"actors/feed/cryo"},
	"github.com/nats-io":               {"actors/cluster", "actors/cluster/directory", "actors/cluster/quota", "actors/cluster/natstest"},
}

// strangers never import each other: what moves and what is asked.
var strangers = map[string]string{"actors": "edge", "edge": "actors"}

// pure packages compute. Time reaches them as an argument, not from a clock.
var pure = []string{
	"rankings", "rankings/index", "rankings/clmath", "rankings/block", "rankings/market", "rankings/ledger",
	"rankings/value", "rankings/chart", "rankings/script", "rankings/field", "edge/query", "edge/render", "storage/accounts",
	"bench/report",
}

// impure imports are out of bounds for pure packages.
var impure = []string{
	"os", "net", "net/http", "log", "log/slog", "context", "math/rand", "math/rand/v2",
	"crypto/rand", "encoding/json", module + "storage",
}

type listed struct {
	ImportPath, Dir                             string
	Imports, GoFiles, TestGoFiles, XTestGoFiles []string
}

// name is the package's place in the tree.
func (p *listed) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// listPackages lists the packages of the product, and those of bench/peers,
// which is a module of its own.
func listPackages(t *testing.T) []listed {
	t.Helper()
	return append(listModule(t, "../.."), listModule(t, "../../bench/peers")...)
}

func listModule(t *testing.T, dir string) (list []listed) {
	t.Helper()
	out, err := exec.Command("go", "list", "-C", dir,
		"-json=ImportPath,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}

	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func TestFloors(t *testing.T) {
	floor := map[string]int{}
	for i, names := range floors {
		for _, name := range names {
			floor[name] = i
		}
	}

	for _, p := range listPackages(t) {
		at, ok := floor[p.name()]
		if !ok {
			t.Errorf("%s stands on no floor: add it to the list or fold it into a package that is", p.name())
			continue
		}
		for _, imported := range p.Imports {
			if dep, ok := strings.CutPrefix(imported, module); ok && floor[dep] >= at {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports must go down", p.name(), at, dep, floor[dep])
			}
			checkImport(t, p.name(), imported)
		}
	}
}

func checkImport(t *testing.T, name, imported string) {
	t.Helper()
	if impureImport(name, imported) {
		t.Errorf("%s is pure and must not import %s", name, imported)
	}
	top, _, _ := strings.Cut(name, "/")
	if other := strangers[top]; other != "" && strings.HasPrefix(imported+"/", module+other+"/") {
		t.Errorf("%s imports %s: writers and readers never import each other", name, imported)
	}

	for heavy, who := range owners {
		if strings.HasPrefix(imported, heavy) && !slices.Contains(who, name) {
			t.Errorf("%s imports %s, which belongs to %v", name, imported, who)
		}
	}
}

// impureImport reports whether a pure package imports what is out of bounds.
func impureImport(name, imported string) bool {
	return slices.Contains(pure, name) && slices.Contains(impure, imported)
}
