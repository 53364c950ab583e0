// Package query turns the bytes of a request's query and path into questions,
// and back. It is strict: whatever it does not fully understand is an error
// whose text names the value and what is allowed, for the client to read.
//
// A value is decoded once: percent-encoding must be well-formed, the result
// UTF-8 without NUL, '+' is a space. A pair without '=' has an empty value; an
// empty piece between two '&' is nothing.
package query
