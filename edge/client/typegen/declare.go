package main

import (
	"slices"
	"strings"
)

// declaration is one type of the output: an object or an alias.
type declaration struct {
	name, about string
	base        string // the type that it extends
	alias       *schema
	members     []member
}

type member struct {
	name, about    string
	of             schema
	null, optional bool
}

// declarer turns schemas into declarations, those inside others included.
type declarer struct {
	doc  *document
	out  []declaration
	seen map[string]string // shape of an inner object -> its name
}

func declare(doc *document) *declarer {
	d := &declarer{doc: doc, seen: map[string]string{}}
	for _, name := range doc.Components.Schemas.names {
		d.add(typeName(name), doc.Components.Schemas.values[name])
	}
	return d
}

// typeName is the name of a schema's type: both languages have an Error of
// their own.
func typeName(schema string) string {
	if schema == "Error" {
		return "ErrorBody"
	}
	return schema
}

// add declares a schema under a name, then what stands inside it.
func (d *declarer) add(name string, s schema) {
	s, _ = s.nullable()
	at := len(d.out)
	d.out = append(d.out, declaration{name: name, about: s.Description})
	if s.Properties == nil {
		alias := s
		if s.Items != nil {
			items := d.named(name+"Item", *s.Items)
			alias.Items = &items
		}
		d.out[at].alias = &alias
		return
	}

	base := d.base(name, s)
	d.out[at].base = base
	for _, property := range s.Properties.names {
		if base != "" && d.has(base, property) {
			continue
		}
		of, null := s.Properties.values[property].nullable()
		m := member{
			name: property, about: of.Description, null: null,
			optional: !slices.Contains(s.Required, property),
		}
		m.of = d.named(name+goName(property), of)
		d.out[at].members = append(d.out[at].members, m)
	}
}

// base is the schema that name extends: PositionDetail extends Position when
// it has all of its properties.
func (d *declarer) base(name string, s schema) string {
	base, ok := strings.CutSuffix(name, "Detail")
	if !ok {
		return ""
	}
	row, ok := d.doc.Components.Schemas.values[base]
	if !ok || row.Properties == nil {
		return ""
	}

	for _, property := range row.Properties.names {
		mine, ok := s.Properties.values[property]
		if !ok || mine.shape() != row.Properties.values[property].shape() {
			return ""
		}
	}
	return base
}

func (d *declarer) has(base, property string) bool {
	_, ok := d.doc.Components.Schemas.values[base].Properties.values[property]
	return ok
}

// named replaces an inner object by a reference to a declaration of its own.
func (d *declarer) named(name string, s schema) schema {
	if s.Items != nil {
		items := d.named(strings.TrimSuffix(name, "s"), *s.Items)
		s.Items = &items
		return s
	}
	if s.Properties == nil {
		return s
	}

	key := s.shape()
	if d.seen[key] == "" {
		d.seen[key] = name
		d.add(name, s)
	}
	return schema{Ref: "/" + d.seen[key], Description: s.Description}
}

// initialisms are words that Go spells in its own way.
var initialisms = strings.NewReplacer(
	"Id", "ID", "Url", "URL", "Apr", "APR", "Tvl", "TVL", "Pnl", "PnL", "Roi", "ROI", "Api", "API")

// goName is the exported name of a property.
func goName(property string) string {
	name := strings.ToUpper(property[:1]) + property[1:]
	return initialisms.Replace(name)
}

// query is the parameters of one list.
type query struct {
	name, path string
	parameters []parameter
}

// queries are the lists of the document.
func (d *document) queries() (all []query) {
	for _, path := range d.Paths.names {
		get := d.Paths.values[path].Get
		list, ok := strings.CutPrefix(get.OperationID, "list")
		if !ok || len(get.Parameters) == 0 {
			continue
		}

		q := query{name: list + "Query", path: path}
		for _, p := range get.Parameters {
			if p.In == "query" {
				q.parameters = append(q.parameters, p)
			}
		}
		all = append(all, q)
	}
	return all
}

// kind is the type of a parameter. One of the words true and false is a boolean, and
// an integer that may be 0 is a count, so that 0 and no value differ.
func (p parameter) kind() string {
	if slices.Contains(p.Schema.Enum, any("true")) {
		return "boolean"
	}
	if p.Schema.is("integer") && p.Schema.Minimum != nil && *p.Schema.Minimum == 0 {
		return "count"
	}
	return strings.Join(p.Schema.Type, "|")
}
