// Package report draws a run of the bench suite as one HTML file that needs
// nothing else: styles stand in it, and plots are SVG made here. It is pure:
// the same run gives the same bytes.
//
// A page is read from the top by someone in a hurry: where and when, which
// figures were reached, how far each scenario is from its limit, then every
// scenario with its two plots:
//
//	latency     percentiles, stretched towards the tail, on a logarithmic
//	            scale of time: the node, its limit, and the baseline
//	throughput  tenths of a second, with a line wherever a chain published
//
// Colours are variables, so that light and dark are one drawing; plots are
// small and stand side by side where there is room, so that their letters can
// be read on a phone.
package report
