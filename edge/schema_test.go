package edge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// schema is a schema of the OpenAPI document as the tests of thousands of
// answers read it: the keywords that the document uses, and no others. What
// it admits is compared with a full validator in TestOpenAPIRefuses. To clients
// its objects are open; to the tests a property that is not there is an error.
type schema map[string]any

var rawDocument = sync.OnceValue(func() (doc map[string]any) {
	must(json.Unmarshal(openAPI, &doc))
	return doc
})

// lookup follows keys into the document; nil when there is nothing.
func lookup(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if ref, ok := m["$ref"].(string); ok {
			m = resolve(ref)
		}
		v = m[k]
	}

	if m, ok := v.(map[string]any); ok && m["$ref"] != nil {
		return resolve(m["$ref"].(string))
	}

	return v
}

func resolve(ref string) map[string]any {
	m, _ := lookup(rawDocument(), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	return m
}

// answerSchema is the schema of a path's answer of a status; ok is false when
// the document does not have the status.
func answerSchema(path string, code int) (s schema, ok bool) {
	v := lookup(rawDocument(), "paths", path, "get", "responses", fmt.Sprint(code))
	if v == nil {
		return nil, false
	}
	m, _ := lookup(v, "content", "application/json", "schema").(map[string]any)
	return m, true
}

// patterns are compiled once.
var patterns sync.Map

func matches(pattern, text string) bool {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(text)
}

// validate returns why v, decoded with numbers as they stand, is not admitted.
func (s schema) validate(v any, where string) error {
	if ref, ok := s["$ref"].(string); ok {
		return schema(resolve(ref)).validate(v, where)
	}

	for keyword, want := range s {
		if !s.admits(keyword, want, v) {
			return fmt.Errorf("%s: %s %v does not admit %.80v", where, keyword, want, v)
		}
	}

	switch v := v.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for i := range v {
			if err := schema(items).validate(v[i], fmt.Sprint(where, "[", i, "]")); err != nil {
				return err
			}
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, value := range v {
			p, known := properties[name].(map[string]any)
			if !known && properties != nil {
				return fmt.Errorf("%s: %s is not documented", where, name)
			}
			if err := schema(p).validate(value, where+"."+name); err != nil {
				return err
			}
		}
	}

	return nil
}

func (s schema) admits(keyword string, want, v any) bool {
	switch keyword {
	case "description", "items", "properties", "additionalProperties":
		return true
	case "type":
		types, several := want.([]any)
		return several && slices.Contains(types, any(typeOf(v, types))) || want == typeOf(v, []any{want})
	case "const":
		return reflect.DeepEqual(v, want)
	case "enum":
		return slices.ContainsFunc(want.([]any), func(one any) bool { return reflect.DeepEqual(one, v) })
	case "required":
		m, _ := v.(map[string]any)
		return m == nil || !slices.ContainsFunc(want.([]any), func(name any) bool {
			_, there := m[name.(string)]
			return !there
		})
	case "pattern":
		text, ok := v.(string)
		return !ok || matches(want.(string), text)
	case "format":
		text, ok := v.(string)
		return !ok || want != "date-time" || matches(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, text)
	case "maxItems":
		list, ok := v.([]any)
		return !ok || len(list) <= int(want.(float64))
	case "minimum":
		number, ok := v.(float64)
		return !ok || number >= want.(float64)
	case "maximum":
		number, ok := v.(float64)
		return !ok || number <= want.(float64)
	case "maxLength":
		text, ok := v.(string)
		return !ok || utf8.RuneCountInString(text) <= int(want.(float64))
	}

	panic("BUG: the tests do not know the keyword " + keyword)
}

// typeOf is the name of the type of v; a whole number is an integer where
// that is asked for.
func typeOf(v any, asked []any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if slices.Contains(asked, any("integer")) && v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}

	return "object"
}
