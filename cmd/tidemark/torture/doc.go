// Package torture treats the built binary as badly as the world may: it kills,
// stops, freezes and floods nodes, fills their disks, takes their descriptors,
// and asks for hours. Its tests run only when TIDEMARK_TORTURE is set: "quick" for
// the share of each change, anything else for the full counts. Each prints its
// figure in a line that begins with "figure:".
//
//	rig        builds the binary, starts and administers nodes
//	mix        what users ask, and new filters
//	client     connections that ask and remember what was answered
//	soak       hours under the mix: memory, descriptors, latencies
package torture
