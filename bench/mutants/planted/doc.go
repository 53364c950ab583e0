// Package planted makes one of the mistakes that bench/mutants put into a
// build: the one whose number the environment names. Nothing of the product
// imports it; the copies of files in an overlay do.
package planted
