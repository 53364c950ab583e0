// Package render turns rows into bytes: JSON by appending to a slice that the
// caller owns, without reflection and without allocating.
package render
