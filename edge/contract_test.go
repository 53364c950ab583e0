package edge

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/storage/accounts"
)

// TestContract holds CONTRACT.md against the OpenAPI document, the limits and
// the tests.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("CONTRACT.md")
	must(err)
	tests := testSources(t)
	doc := rawDocument()
	want := map[string][]string{
		"Headers":  slices.Collect(maps.Keys(at(doc, "components", "headers").(map[string]any))),
		"Statuses": {},
		"Limits":   {},
		"Flags": {
			"stale", "dataAsOf", "partial", "missingChains", "totalCapped", "countsPending",
			"transactionsDegraded", "transactionsPartial", "transactionsTruncated",
			"priceUnavailable", "unrealizableLeg",
		},
	}
	for _, code := range codes {
		want["Statuses"] = append(want["Statuses"], fmt.Sprint(code))
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pages.Limits]()) {
		want["Limits"] = append(want["Limits"], f.Name)
	}
	for name, s := range at(doc, "components", "schemas").(map[string]any) {
		for _, field := range fieldsOf(s, "") {
			want["Fields"] = append(want["Fields"], name+" "+field)
		}
	}
	for path, route := range document().Paths.Map() {
		for _, p := range route.Get.Parameters {
			want["Parameters"] = append(want["Parameters"], path+" "+p.Value.Name)
		}
	}
	got := map[string][]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(strings.TrimSpace(name), ",")
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[len(cells)-1]) == "tests" {
			continue
		}
		var sources string
		for name := range strings.SplitSeq(cells[len(cells)-1], ",") {
			source, there := tests[strings.TrimSpace(name)]
			if !there {
				t.Errorf("%s: no test %s", section, name)
			}
			sources += source
		}
		first := strings.TrimSpace(cells[0])
		if section != "Fields" && section != "Parameters" {
			got[section] = append(got[section], first)
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			name = strings.TrimSpace(name)
			got[section] = append(got[section], first+" "+name)
			if last := name[strings.LastIndexByte(name, '.')+1:]; section == "Fields" && !strings.Contains(sources, last) {
				t.Errorf("%s: none of%s mentions %s", first, cells[len(cells)-1], name)
			}
		}
	}
	for section, names := range want {
		slices.Sort(names)
		slices.Sort(got[section])
		if !slices.Equal(names, got[section]) {
			t.Errorf("%s: there are %q;\nthe page has %q", section, names, got[section])
		}
	}
}

// fieldsOf lists the properties of a schema, with those of what it holds.
func fieldsOf(s any, before string) (names []string) {
	m, _ := s.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		names = append(append(names, before+name), fieldsOf(p, before+name+".")...)
	}
	return append(names, itemsOf(m, before)...)
}

func itemsOf(m map[string]any, before string) []string {
	if items, ok := m["items"]; ok {
		return fieldsOf(items, before)
	}
	return nil
}

// testSources are the tests of the project by name. Those with golden files
// have these too.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	must(filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		must(err)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		must(err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			source := string(text[set.Position(f.Pos()).Offset:set.Position(f.End()).Offset])
			for _, piece := range strings.Split(source, `"`) {
				if strings.HasSuffix(piece, ".json") {
					golden, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "testdata", piece))
					source += string(golden)
				}
			}
			sources[f.Name.Name] += source
		}
		return nil
	}))
	return sources
}

// TestListFields names what lists and the free routes have at their top.
func TestListFields(t *testing.T) {
	s := serve(t, nil)
	f := func(path string, want ...string) {
		t.Helper()
		m := s.get(path).decoded(t)
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
			t.Errorf("%s has %q; want %q", path, got, want)
		}
	}
	f("/v1/positions", "positions", "pagination")
	f("/v1/pools", "pools", "pagination")
	f("/v1/plans", "plans", "quotaResets")
	f("/v1/pricing/units", "units", "notCharged")
	f("/v1/usage", "account", "plan", "month", "unitsUsed", "unitsLimit", "resetsAt", "routes")
	p := s.get("/v1/pools?page=2&limit=3").decoded(t)["pagination"]
	if fmt.Sprint(p) != "map[hasMore:true limit:3 page:2 total:33 totalPages:11]" {
		t.Errorf("pagination: %v", p)
	}
	unit := s.get("/v1/pricing/units").decoded(t)["units"].([]any)[0]
	if fmt.Sprint(unit) != "map[method:GET path:/v1/positions units:1]" {
		t.Errorf("units: %v", unit)
	}
	routes := s.get("/v1/usage").decoded(t)["routes"]
	if fmt.Sprint(routes) != "[map[path:/v1/positions requests:1 units:1] map[path:/v1/pools requests:2 units:4]"+
		" map[path:/v1/usage requests:1 units:0]]" {
		t.Errorf("usage: %v", routes)
	}
}

// TestCountsPending: counts of pools are part of a generation, so that they
// are there from the first page, after a restart too, and countsPending and
// null never are.
func TestCountsPending(t *testing.T) {
	for _, s := range []*front{serve(t, nil), serve(t, func(c *Config) { c.Board = reopened(t) })} {
		rows, _, body, _ := s.page("/v1/pools?limit=100&includeRisky=1")
		if body["countsPending"] != nil {
			t.Errorf("countsPending is %v", body["countsPending"])
		}
		for _, row := range rows {
			r := row.(map[string]any)
			if r["positionsCount"] == nil || r["holdersCount"] == nil {
				t.Errorf("pool %v: counts %v and %v", r["poolId"], r["positionsCount"], r["holdersCount"])
			}
		}
	}
}

// TestErrorBody: an error is one field, but for the monthly quota's.
func TestErrorBody(t *testing.T) {
	s := serve(t, nil)
	spent, fast := s.issue("free", accounts.Server), s.issue("free", accounts.Server)
	s.drainTo(spent, 0)
	s.takeAll(fast)
	f := func(path, key string, code int, want ...string) {
		t.Helper()
		a := s.get(path, gate.HeaderKey+": "+key)
		if got := slices.Sorted(maps.Keys(a.decoded(t))); a.code != code || !slices.Equal(got, want) {
			t.Errorf("%s: %d %s; want %d with %q", path, a.code, a.body, code, want)
		}
	}
	f("/v1/pools", spent, 429, "error", "retryAfterSec")
	f("/v1/pools", fast, 429, "error")
	f("/v1/pools", "", 401, "error")
	f("/v1/pools?x=1", s.key, 400, "error")
	a := s.get("/v1/pools", gate.HeaderKey+": "+spent)
	if got := fmt.Sprintf("%.0f", a.decoded(t)["retryAfterSec"]); got != a.header.Get("Retry-After") {
		t.Errorf("retryAfterSec is %s; Retry-After %s", got, a.header.Get("Retry-After"))
	}
}
