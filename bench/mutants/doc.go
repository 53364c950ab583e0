// Command mutants measures what the tests notice. It takes a seeded sample of
// small mistakes over the product's packages, makes them one at a time, and runs
// the tests that come to the place of each.
//
// The mistakes are those that hands make: a bound off by one, a sign, a statement
// or a check left out, an error ignored, a condition turned round or with a part
// missing, arguments and values swapped, a field or a part of a key left out.
//
// All mistakes of a sample are in one build, each behind a switch (package
// planted), so that packages compile once and not once a mistake. The build is an
// overlay: nothing is written to the tree. A mistake that does not pass the type
// checker is not counted. Every test runs alone first, without a mistake, which
// tells how long it takes and which mistakes it comes to; tests that fail then are
// left out and named. A mistake is tried on the tests of its package first, then
// on those of the packages above it.
//
// It is noticed when a test fails twice, or hangs twice, the second time with
// twice the time. It has passed when no test that comes to it fails, or none comes
// to it. What cannot be noticed because it changes nothing stands in
// equivalents.txt with the reason. Lines of the log are not counted as behaviour.
//
// Why not a kept tool: those for Go compile once a mistake, take no seeded sample,
// and either write into the tree or leave no statements out.
//
//	main.go     the flags and the order of things
//	load.go     the packages, type-checked
//	find.go     every place for a mistake
//	stmts.go    mistakes in statements
//	sample.go   the seeded sample, and the overlay with it
//	binary.go   test binaries and what their tests come to
//	try.go      one mistake: noticed or passed
//	report.go   the table, and each that passed
package main
