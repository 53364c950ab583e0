// Package report holds what a run of the bench suite measured, and renders it
// as one HTML file that needs nothing else: template, style, script and the
// plot library (uPlot, MIT) are embedded. It is pure: the same run gives the
// same bytes.
//
//	run.go       the data: what NDJSON holds and the report shows
//	text.go      the tables of a terminal, and a run against an older one
//	html.go      the page: what the template needs besides the data
//	assets/      templates, style and script of the page, and uPlot
//
// A page is read from the top by someone in a hurry: where and when, which
// figures were reached, how far each scenario is from its limit, then every
// scenario with its two plots:
//
//	latency     percentiles, stretched towards the tail, on a logarithmic
//	            scale of time: the node, its limit, and the baseline
//	throughput  tenths of a second, with a line wherever a chain published
package report
