package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var document = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	must(err)
	return doc
})

func TestOpenAPI(t *testing.T) {
	if err := document().Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil)
	if a := s.get("/openapi.json"); a.code != 200 || a.body != string(openAPI) {
		t.Errorf("got %d, %d bytes", a.code, len(a.body))
	}
	paths := document().Paths.Map()
	for i := range routes {
		if routes[i].access != free && paths[routes[i].meter.Path()] == nil {
			t.Errorf("%s is not documented", routes[i].meter.Path())
		}
	}
	// routeNone is none, and the site's files are for browsers.
	if len(paths) != int(numRoutes)-2 {
		t.Errorf("%d paths are documented; there are %d routes", len(paths), numRoutes-2)
	}
}

// TestOpenAPIRefuses: the document is worth holding answers against.
func TestOpenAPIRefuses(t *testing.T) {
	f := func(name, body string) {
		t.Helper()
		var v any
		must(json.Unmarshal([]byte(body), &v))
		schema := document().Components.Schemas[name].Value
		if schema.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil {
			t.Errorf("%s admits %s", name, body)
		}
	}
	f("PositionList", `{"positions":[]}`)
	f("PositionList", `{"positions":[],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false},"x":1}`)
	f("PositionList", `{"positions":[],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false,"totalCapped":false}}`)
	f("PositionList", `{"positions":[{}],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false}}`)
	f("Amounts", `{"amount0":"1.0","amount1":"1","amount0Raw":"1","amount1Raw":"1","valueUsd":0}`)
	f("Amounts", `{"amount0":"1","amount1":"1","amount0Raw":"01","amount1Raw":"1","valueUsd":0}`)
	f("Error", `{"message":"no"}`)
}

// covered are the answers that were held against the document, by path and
// status.
var covered = struct {
	sync.Mutex
	cells map[string]int
}{cells: map[string]int{}}

// cover counts an answer and returns how many there were like it.
func cover(path string, code int) int {
	covered.Lock()
	defer covered.Unlock()
	cell := fmt.Sprint(path, " ", code)
	covered.cells[cell]++
	return covered.cells[cell]
}

// conform holds an answer against the document: its status is there, its body
// has the schema's shape.
func conform(t *testing.T, method, target string, a answer) {
	t.Helper()
	path := template(target)
	page := a.header.Get("Content-Security-Policy") != "" // for browsers; not of the document
	if path == "" || method != "GET" || a.header.Get("Content-Encoding") != "" || page {
		return
	}
	get := document().Paths.Find(path).Get
	response := get.Responses.Value(fmt.Sprint(a.code))
	if response == nil {
		t.Errorf("%s: %d is not documented", target, a.code)
		return
	}
	for name := range a.header {
		if strings.HasPrefix(name, "X-") || strings.HasPrefix(name, "Ratelimit") {
			if !documented(response.Value.Headers, name) {
				t.Errorf("%s: header %s is not documented for %d", target, name, a.code)
			}
		}
	}
	seen := cover(path, a.code)
	if a.code == 304 {
		if a.body != "" || a.header.Get("ETag") == "" {
			t.Errorf("%s: a 304 with %q and ETag %q", target, a.body, a.header.Get("ETag"))
		}
		return
	}
	if seen > 40 { // the validator is slow, and the shapes repeat
		return
	}
	in := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	var body any
	if err := in.Decode(&body); err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}
	schema := response.Value.Content.Get("application/json").Schema.Value
	if err := schema.VisitJSON(body, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse()); err != nil {
		t.Errorf("%s: %.600v", target, err)
	}
}

func documented(headers openapi3.Headers, name string) bool {
	for h := range headers {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// template is the documented path of a request, or none.
func template(target string) string {
	path, _, _ := strings.Cut(target, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 4 && parts[0] == "v1" && !strings.Contains(path, "//") {
		parts[2], parts[3] = "{chainId}", "{protocol}"
		switch parts[1] {
		case "positions":
			parts[4] = "{positionId}"
		case "pools":
			parts[4] = "{poolId}"
		}
	}
	joined := "/" + strings.Join(parts, "/")
	if document().Paths.Find(joined) == nil || strings.Contains(path, "//") {
		return ""
	}
	return joined
}
