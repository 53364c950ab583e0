package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// fields is a JSON object in the order in which it was written.
type fields[T any] struct {
	names  []string
	values map[string]T
}

func (f *fields[T]) UnmarshalJSON(text []byte) error {
	f.values = map[string]T{}
	if err := json.Unmarshal(text, &f.values); err != nil {
		return err
	}

	// A map has forgotten the order; the tokens at depth one have it.
	dec := json.NewDecoder(bytes.NewReader(text))
	for depth, key := 0, true; ; {
		token, err := dec.Token()
		if err != nil {
			return nil // the end: the text was parsed above
		}
		switch at := token.(type) {
		case json.Delim:
			if at == '{' || at == '[' {
				depth++
				key = depth == 1
			} else {
				depth--
				key = true
			}
		default:
			if depth != 1 {
				continue
			}
			if key {
				f.names = append(f.names, at.(string))
			}
			key = !key
		}
	}
}

// schema is what the document's schemas use of JSON Schema.
type schema struct {
	Ref         string          `json:"$ref"`
	Type        kinds           `json:"type"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Items       *schema         `json:"items"`
	Properties  *fields[schema] `json:"properties"`
	Required    []string        `json:"required"`
	AnyOf       []schema        `json:"anyOf"`
	OneOf       []schema        `json:"oneOf"`
}

// kinds is the type of a schema: one name, or several.
type kinds []string

func (k *kinds) UnmarshalJSON(text []byte) error {
	if text[0] != '"' {
		return json.Unmarshal(text, (*[]string)(k))
	}
	*k = make([]string, 1)
	return json.Unmarshal(text, &(*k)[0])
}

// parameter is one of a list's.
type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Schema      struct {
		schema
		Minimum *int64 `json:"minimum"`
	} `json:"schema"`
}

type document struct {
	Paths fields[struct {
		Get struct {
			OperationID string      `json:"operationId"`
			Parameters  []parameter `json:"parameters"`
		} `json:"get"`
	}] `json:"paths"`
	Components struct {
		Schemas fields[schema] `json:"schemas"`
	} `json:"components"`
}

func parse(text []byte) (*document, error) {
	d := new(document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}
	return d, nil
}

// nullable takes null off a schema and tells whether it was there.
func (s schema) nullable() (schema, bool) {
	for _, of := range [][]schema{s.AnyOf, s.OneOf} {
		if len(of) == 2 && slices.Equal(of[1].Type, kinds{"null"}) {
			inner := of[0]
			inner.Description = s.Description
			return inner, true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(s.Type), func(k string) bool { return k == "null" })
	null := len(rest) < len(s.Type)
	s.Type = rest
	s.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })
	return s, null
}

// is reports whether a schema has a type.
func (s schema) is(kind string) bool { return len(s.Type) == 1 && s.Type[0] == kind }

// shape is a text that two schemas share when they admit the same.
func (s schema) shape() string {
	s.Description = ""
	text, err := json.Marshal(struct {
		Schema     schema
		Properties any
	}{s, s.properties()})
	if err != nil {
		panic("BUG: a schema that was JSON is none")
	}
	return string(text)
}

func (s schema) properties() any {
	if s.Properties == nil {
		return nil
	}
	return s.Properties.values
}

// target is the name of the schema that a reference leads to.
func (s schema) target() string { return typeName(s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]) }
