// Package render encodes answers as JSON, by appending to a slice that the caller
// owns, without reflection and without allocating.
//
// Functions named number, integer, boolean, percent, moment, quoted, amount and
// text append one JSON value each. A number that is not known is null.
package render
