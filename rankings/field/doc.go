// Package field lays out records: the fields of what is stored and of what is archived,
// one after another.
//
// Each record has one walk over its fields, which appends it, reads it back and, with
// Note set, reports which bytes belong to which field. So encoder and decoder cannot
// disagree about a layout.
//
// Every value has exactly one encoding. A decoder refuses bytes that the encoder would
// not have written: what decodes without an error encodes to the same bytes.
package field
