// Package texts keeps the texts of contracts, each once. Records have numbers for
// them, by which equal texts are equal.
//
// A number is not a pointer. To the garbage collector a short text of its own costs
// as much as a large record, and every token has two: with texts as pointers it spent
// half of its time on them.
//
// A text is kept for as long as the process runs. Chains have many in common, and no
// chain forgets a token. Numbers differ from run to run, so they are neither stored
// nor put in order.
//
// Who reads a text, or finds one that is there, takes no lock.
package texts
