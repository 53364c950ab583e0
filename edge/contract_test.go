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

// TestContract checks CONTRACT.md against the OpenAPI document, the limits and the
// tests.
func TestContract(t *testing.T) {
	want, got := contractParts(), contractPage(t)
	for section, names := range want {
		has := got[section]
		for _, name := range names {
			if !slices.Contains(has, name) {
				t.Errorf("%s: the page does not have %s", section, name)
			}
		}

		slices.Sort(has)
		for i, name := range has {
			if i > 0 && has[i-1] == name && section != "Statuses" {
				t.Errorf("%s: the page has %s twice", section, name)
			}
			if !slices.Contains(names, name) {
				t.Errorf("%s: the page has %s, which does not exist", section, name)
			}
		}
	}
}

// contractParts lists what the page must have, by section.
func contractParts() map[string][]string {
	doc := rawDocument()
	want := map[string][]string{
		"Headers": slices.Collect(maps.Keys(lookup(doc, "components", "headers").(map[string]any))),
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

	for name, s := range lookup(doc, "components", "schemas").(map[string]any) {
		for _, field := range fieldsOf(s, "") {
			want["Fields"] = append(want["Fields"], name+" "+field)
		}
	}

	for path, route := range document().Paths.Map() {
		for _, p := range route.Get.Parameters {
			want["Parameters"] = append(want["Parameters"], path+" "+p.Value.Name)
		}
	}
	return want
}

// longPaths replaces the page's abbreviations of paths.
var longPaths = strings.NewReplacer("POSITION", "/v1/positions/{chainId}/{protocol}/{positionId}",
	"POOL", "/v1/pools/{chainId}/{protocol}/{poolId}")

// contractPage returns what the page has, by section, and checks its rows.
func contractPage(t *testing.T) map[string][]string {
	text, err := os.ReadFile("CONTRACT.md")
	must(err)
	tests, got := testSources(t), map[string][]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = name
		}
		if len(line) > 100 {
			t.Errorf("%s: a row of %d columns: %s", section, len(line), line)
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		first, shownBy := cells[0], cells[len(cells)-1]
		if !strings.HasPrefix(line, "| ") || shownBy == "tests" {
			continue
		}

		var sources string
		for name := range strings.SplitSeq(shownBy, ", ") {
			if _, there := tests[name]; !there {
				t.Errorf("%s: there is no test %s", section, name)
			}
			sources += tests[name]
		}
		switch section {
		case "Fields":
			for _, name := range fieldsOfRow(first, cells[1], cells[2]) {
				got[section] = append(got[section], first+" "+name)
				if last := name[strings.LastIndexByte(name, '.')+1:]; !strings.Contains(sources, last) {
					t.Errorf("%s: none of %s mentions %s", first, shownBy, name)
				}
			}
		case "Parameters":
			for name := range strings.SplitSeq(cells[1], ", ") {
				got[section] = append(got[section], longPaths.Replace(first)+" "+name)
			}
		default:
			got[section] = append(got[section], first)
		}
	}
	return got
}

// fieldsOfRow returns the fields of a row. "all of X" means those that the schema
// has in common with X.
func fieldsOfRow(schema, within, cell string) (names []string) {
	if base, ok := strings.CutPrefix(cell, "all of "); ok {
		own := fieldsOf(resolve("#/components/schemas/"+schema), "")
		for _, name := range fieldsOf(resolve("#/components/schemas/"+base), "") {
			if slices.Contains(own, name) {
				names = append(names, name)
			}
		}
		return names
	}

	for name := range strings.SplitSeq(cell, ", ") {
		if within != "" {
			name = within + "." + name
		}
		names = append(names, name)
	}

	return names
}

// fieldsOf returns the properties of a schema, including nested ones.
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

// testSources returns the source of each test below edge, by name, with the golden
// files that it reads.
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

// TestListFields checks the top-level fields of lists and free routes.
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

// TestCountsPending checks that pools have their counts from the first page on,
// after a restart too, since the counts are part of a generation.
func TestCountsPending(t *testing.T) {
	for _, s := range []*front{serve(t, nil), serve(t, func(c *Config) { c.Board = reopenBoard(t) })} {
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

// TestErrorBody checks that only the 429 of the monthly quota has a second field.
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
