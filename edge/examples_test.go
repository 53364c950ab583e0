package edge

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/edge/gate"
	"tidemark/storage/accounts"
)

var update = flag.Bool("update", false, "write the examples of the OpenAPI document anew")

// exampleItems is how many elements of an array an example shows.
const exampleItems = 2

// optional are properties that an answer has only at times.
var optional = []string{"stale", "dataAsOf", "totalCapped", "raw", "unitsReserved", "preview"}

// exampleTargets are the questions that the examples answer, by documented
// path: lists of one row, and the things in those rows.
func exampleTargets(s *front) map[string]string {
	first := func(list, id string) string {
		rows := s.get("/v1/" + list + "?chainId=1&limit=1").decoded(s.t)
		return rows[list].([]any)[0].(map[string]any)[id].(string)
	}

	fill := strings.NewReplacer("{chainId}", "1", "{protocol}", "swapdex-v4",
		"{positionId}", first("positions", "positionId"), "{poolId}", first("pools", "poolId"),
		"{address}", first("positions", "owner"))
	targets := map[string]string{}
	for path := range document().Paths.Map() {
		targets[path] = fill.Replace(path)
	}
	targets["/v1/tokens"] += "?limit=2"
	targets["/v1/tokens/{chainId}/{address}"] = "/v1/tokens/1/" + somePool[:42]
	targets["/v1/positions"] += "?limit=1"
	targets["/v1/pools"] += "?limit=1"
	for path, query := range requiredQueries(stateOf(1)) {
		targets[path] += query
	}
	return targets
}

// TestExamples holds the example of every 200 against its schema and against
// what a node with a frozen market answers. With -update it writes them.
func TestExamples(t *testing.T) {
	s := serve(t, func(c *Config) { c.Preview = false })
	text, targets := openAPI, exampleTargets(s)
	key := gate.HeaderKey + ": " + s.issue("starter", accounts.Server)
	for _, path := range slices.Sorted(maps.Keys(targets)) {
		if path == "/openapi.json" || strings.HasSuffix(path, "/export") || path == streamPath {
			continue // cannot hold itself; are no objects; see TestStreamExample
		}
		a := s.get(targets[path], key)
		if a.code != 200 {
			t.Fatalf("%s: %d %s", targets[path], a.code, a.body)
		}
		at := []string{"paths", path, "get", "responses", "200", "content", "application/json", "example"}
		from, to := locate(text, at...)
		if *update {
			var shown bytes.Buffer
			must(json.Indent(&shown, shorten([]byte(a.body)), strings.Repeat(" ", len(at)), " "))
			text = slices.Concat(text[:from], shown.Bytes(), text[to:])
			continue
		}

		var example, answer any
		must(json.Unmarshal(text[from:to], &example))
		must(json.Unmarshal([]byte(a.body), &answer))
		is, _ := answerSchema(path, 200)
		if err := is.validate(example, "example"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := sameShape(example, answer, "example"); err != nil {
			t.Errorf("%s: %v; write it anew with -update", path, err)
		}
		if err := sameNumbers(path, example, shorten([]byte(a.body))); err != nil {
			t.Errorf("%s: %v; write it anew with -update", path, err)
		}
	}
	if *update {
		must(os.WriteFile("openapi.json", text, 0o644))
	}
}

// locate returns where the value of a path of keys stands in a document.
func locate(text []byte, keys ...string) (from, to int) {
	in := json.NewDecoder(bytes.NewReader(text))
	for _, key := range keys {
		token, err := in.Token()
		must(err)
		if token != json.Delim('{') {
			panic(fmt.Sprintf("BUG: %v stands where %s is looked for", token, key))
		}
		for name := any(nil); ; {
			name, err = in.Token()
			must(err)
			if name == key {
				break
			}
			var skipped json.RawMessage
			must(in.Decode(&skipped))
		}
	}

	var value json.RawMessage
	must(in.Decode(&value))
	to = int(in.InputOffset())
	return to - len(value), to
}

// shorten cuts every array of a JSON text after exampleItems elements.
func shorten(text json.RawMessage) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(text))
	opened, err := in.Token()
	must(err)
	if opened != json.Delim('{') && opened != json.Delim('[') {
		return text
	}

	out := []byte{text[0]}
	for n := 0; in.More(); n++ {
		if n > 0 && (opened == json.Delim('{') || n < exampleItems) {
			out = append(out, ',')
		}
		if opened == json.Delim('{') {
			name, err := in.Token()
			must(err)
			out = append(append(out, fmt.Sprintf("%q", name)...), ':')
		}
		var value json.RawMessage
		must(in.Decode(&value))
		if opened == json.Delim('{') || n < exampleItems {
			out = append(out, shorten(value)...)
		}
	}

	return append(out, text[len(text)-1])
}

// sameNumbers reports whether an example of a position or pool has other numbers
// than the answer. The market is frozen, so they are the same on every machine but
// for the last digits of a float.
func sameNumbers(path string, example any, answer []byte) error {
	if !strings.HasPrefix(path, "/v1/po") {
		return nil
	}
	var want any
	must(json.Unmarshal(answer, &want))
	return sameValues(example, want, "example")
}

func sameValues(example, want any, where string) error {
	switch e := example.(type) {
	case map[string]any:
		for name := range e {
			w, _ := want.(map[string]any)
			if err := sameValues(e[name], w[name], where+"."+name); err != nil {
				return err
			}
		}
		return nil
	case []any:
		w, _ := want.([]any)
		for i := range e {
			if i >= len(w) {
				return fmt.Errorf("%s has %d elements; the answer %d", where, len(e), len(w))
			}
			if err := sameValues(e[i], w[i], fmt.Sprint(where, "[", i, "]")); err != nil {
				return err
			}
		}
		return nil
	case float64:
		if w, ok := want.(float64); ok && math.Abs(e-w) <= 1e-9*math.Abs(w) {
			return nil
		}
	}

	if example != want {
		return fmt.Errorf("%s is %v; the answer has %v", where, example, want)
	}
	return nil
}

// sameShape reports where two values differ in more than their content: by the
// names of properties, or by the types of what is not null. An array has the
// shape of its first element.
func sameShape(example, answer any, where string) error {
	switch e := example.(type) {
	case map[string]any:
		a, ok := answer.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Concat(slices.Collect(maps.Keys(e)), slices.Collect(maps.Keys(a))) {
			_, shown := e[name]
			_, answered := a[name]
			if shown != answered && !slices.Contains(optional, name) {
				return fmt.Errorf("%s.%s is in the example: %v, in the answer: %v", where, name, shown, answered)
			}
			if err := sameShape(e[name], a[name], where+"."+name); err != nil {
				return err
			}
		}
		return nil
	case []any:
		a, ok := answer.([]any)
		if !ok {
			break
		}
		for i := range e {
			if len(a) > 0 {
				if err := sameShape(e[i], a[0], fmt.Sprint(where, "[", i, "]")); err != nil {
					return err
				}
			}
		}
		return nil
	}

	if example == nil || answer == nil || fmt.Sprintf("%T", example) == fmt.Sprintf("%T", answer) {
		return nil
	}

	return fmt.Errorf("%s is %T in the example and %T in the answer", where, example, answer)
}

// TestErrorExamples checks that the examples of errors that have one message are what a
// client gets, and that they cost what the document says.
func TestErrorExamples(t *testing.T) {
	s := serve(t, nil)
	f := func(target string) {
		t.Helper()
		a := s.get(target)
		response := document().Paths.Find(template(target)).Get.Responses.Value(fmt.Sprint(a.code)).Value
		example := response.Content.Get("application/json").Example
		if got := a.decoded(t); !reflect.DeepEqual(example, any(got)) {
			t.Errorf("%s: the example of %d is %v; the answer is %v", target, a.code, example, got)
		}
		free := strings.Contains(*response.Description, "Costs no units.")
		if charged := a.header.Get("X-Units-Charged"); free != (charged == "0") {
			t.Errorf("%s: charged %s; the document says %s", target, charged, *response.Description)
		}
	}

	for _, path := range []string{"positions", "pools", "positions/export", "pools/export"} {
		f("/v1/" + path + "?chainId=1&generation=1:999")
	}
	f("/v1/positions/1/swapdex-v4/999999")
	f("/v1/tokens/1/" + noOne)
}
