package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"tidemark/rankings/market"
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
	f("PositionList", `{"positions":[],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false,"totalCapped":false}}`)
	f("PositionList", `{"positions":[{}],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false}}`)
	f("Amounts", `{"amount0":"1.0","amount1":"1","amount0Raw":"1","amount1Raw":"1","valueUsd":0}`)
	f("Amounts", `{"amount0":"1","amount1":"1","amount0Raw":"01","amount1Raw":"1","valueUsd":0}`)
	f("Error", `{"message":"no"}`)
}

// TestOpenAPIOpen: a client that validates takes a property that it does not
// know, and the tests do not.
func TestOpenAPIOpen(t *testing.T) {
	var v any
	must(json.Unmarshal([]byte(`{"error":"no","added":1}`), &v))
	if err := document().Components.Schemas["Error"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("a property more is refused: %v", err)
	}
	if schema(resolve("#/components/schemas/Error")).validate(v, "body") == nil {
		t.Error("the tests admit a property that is not documented")
	}
	if bytes.Contains(openAPI, []byte(`"additionalProperties": false`)) {
		t.Error("an object of the document is closed")
	}
}

// TestOpenAPITexts: every property, parameter, operation and tag says what it
// is, one that may be null what null means, and every component is used.
func TestOpenAPITexts(t *testing.T) {
	doc := rawDocument()
	var walk func(where string, v any)
	walk = func(where string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		properties, _ := m["properties"].(map[string]any)
		for name, p := range properties {
			at := where + "." + name
			text, _ := p.(map[string]any)["description"].(string)
			if len(text) < 10 || !strings.HasSuffix(text, ".") {
				t.Errorf("%s: the description is %q", at, text)
			}
			if types, _ := p.(map[string]any)["type"].([]any); slices.Contains(types, any("null")) &&
				!strings.Contains(text, "null") {
				t.Errorf("%s may be null; the description does not say what that means: %q", at, text)
			}
			walk(at, p)
		}
		walk(where, m["items"])
	}
	for name, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		walk(name, s)
	}

	tags := map[string]bool{}
	for _, tag := range document().Tags {
		tags[tag.Name] = len(tag.Description) > 0
	}
	for path, item := range document().Paths.Map() {
		if op := item.Get; op.Summary == "" || len(op.Tags) != 1 || !tags[op.Tags[0]] {
			t.Errorf("%s: summary %q, tags %v", path, op.Summary, op.Tags)
		}
		for _, p := range item.Get.Parameters {
			if p.Value.Description == "" {
				t.Errorf("%s: parameter %s has no description", path, p.Value.Name)
			}
		}
	}
	for kind, all := range doc["components"].(map[string]any) {
		for name := range all.(map[string]any) {
			ref := fmt.Sprintf(`"#/components/%s/%s"`, kind, name)
			if kind != "securitySchemes" && !bytes.Contains(openAPI, []byte(ref)) {
				t.Errorf("%s is used nowhere", ref)
			}
		}
	}
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

	if content := a.header.Get("Content-Type"); content != contentJSON {
		if kind, _, _ := strings.Cut(content, ";"); response.Value.Content.Get(kind) == nil {
			t.Errorf("%s: %s is not documented", target, content)
		}
		return
	}

	in := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	var body any
	if err := in.Decode(&body); err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}

	is := response.Value.Content.Get("application/json").Schema.Value
	if err := is.VisitJSON(body, openapi3.EnableJSONSchema2020(), openapi3.VisitAsResponse()); err != nil {
		t.Errorf("%s: %.600v", target, err)
	}

	strict, _ := answerSchema(path, a.code)
	if err := strict.validate(body, "body"); err != nil {
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

// requiredQueries are the queries without which a route is a 400, by documented
// path, of things that exist on a chain.
func requiredQueries(st *market.State) map[string]string {
	return map[string]string{
		"/v1/positions/batch": fmt.Sprintf("?ids=%d-%d", st.Chain, st.Positions.At(0).ID),
		"/v1/pools/batch":     fmt.Sprintf("?ids=%d-%s", st.Chain, st.Pools.At(0).ID),
		"/v1/pools/{chainId}/{protocol}/{poolId}/estimate": someRange,

		streamPath: fmt.Sprintf("?pools=%d-%s", st.Chain, st.Pools.At(0).ID),
	}
}

// template is the documented path of a request, or none.
func template(target string) string {
	path, _, _ := strings.Cut(target, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) == 3 && parts[0] == "v1" && parts[1] == "owners" {
		parts[2] = "{address}"
	}
	if len(parts) == 4 && parts[0] == "v1" && parts[1] == "tokens" {
		parts[2], parts[3] = "{chainId}", "{address}"
	}
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
