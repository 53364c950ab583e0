// Package query parses the query and path of a request into questions, and prints
// questions as queries. It is strict: everything that it does not fully understand
// is an error, whose text names the value and what is allowed.
//
//	raw bytes -> pairs, decode -> name and value -> values, key, cut -> question
//	question  -> print         -> the canonical query, which names it in caches
//
// Each route has a file with its parameters: positions, pools, tokens, ticks, charts,
// estimate, batch and stream; path reads what stands in paths. options are those of lists
// and exports that do not change which rows there are.
//
// A value is decoded once. Percent-encoding must be well-formed, the result must be
// UTF-8, and '+' is a space. A pair without '=' has an empty value. An
// empty part between two '&' is ignored.
package query
