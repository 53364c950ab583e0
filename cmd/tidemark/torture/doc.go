// Package torture treats the built binary as badly as the world may: it kills,
// stops, freezes and floods nodes, fills their disks, takes their descriptors,
// and asks for hours. Its tests run only when TIDEMARK_TORTURE is set: quick for
// the share of each change, full for the full counts. Each prints its figure in a
// line that begins with "figure:".
//
//	rig          builds the binary, starts and administers nodes
//	mix          what users ask, and new filters
//	client       connections that ask and remember what was answered
//	kill         kill -9: pages, generations and charges afterwards
//	stop         SIGTERM and SIGSTOP under load
//	connections  silent connections and slow readers, with few descriptors
//	overload     more new filters than can be answered
//	times        the node's own times of answers
//	disk         full and frozen disks
//	canary       answers to many tenants, each of which must be its own
//	walk         pages of whole rankings during refreshes
//	race         the race detector over all routes and all administration
//	fleet        three NATS servers and three nodes, with proxies between them
//	cluster      writers and servers killed, links cut, how far followers are behind
//	soak         hours under the mix: memory, descriptors, latencies
package torture
