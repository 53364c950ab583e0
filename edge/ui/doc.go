// Package ui holds the pages that the binary serves beside the API: the front
// page, the dashboard and the documentation.
//
//	src     TypeScript and style sheets; preact and uPlot are all they use
//	dist    what build.mjs makes of them, committed and embedded
//	test    the pages in a real browser, and the pictures of them
//
// The guides are Markdown in edge/docs. Building the binary needs no Node:
// `make ui` rebuilds dist after a change of the sources, and `make ui-check`
// holds the two against each other.
//
// A name that carries the hash of its content never changes, so it is kept by
// browsers for a year. Everything else is asked for again with its ETag.
package ui
