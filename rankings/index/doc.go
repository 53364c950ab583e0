// Package index finds rows: by id, by group and by text. A generation makes each of these
// from that of the generation before, and shares with it what is the same.
//
//	Column       a column whose rows hardly ever change      column.go
//	IDs          the row with an id                          ids.go
//	Postings     the rows of a pool, an owner or a token     postings.go
//	Grams        rows by a part of their id in hex           grams.go
//	Symbols      tokens by a part of their symbol, or by     symbols.go, pairs.go
//	             one of two symbols
//	Sorter       sorts rows by keys                          sorter.go
//
// Work on many rows is done in strides, with a pause after each (strides.go).
package index
