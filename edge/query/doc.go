// Package query parses the query and path of a request into questions, and prints
// questions as queries. It is strict: everything that it does not fully understand
// is an error, whose text names the value and what is allowed.
//
// A value is decoded once. Percent-encoding must be well-formed, the result must be
// UTF-8 without NUL, and '+' is a space. A pair without '=' has an empty value. An
// empty part between two '&' is ignored.
package query
