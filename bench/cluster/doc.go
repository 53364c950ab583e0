// Package cluster runs a whole cluster on this machine: NATS servers and nodes, each a
// process of its own, and a balancer (bench/balancer) in front of the nodes.
//
//	servers.go    NATS servers as processes, which can be killed and started again
//	nodes.go      a cluster from the first server to the last node, and its end
//	front.go      the balancer in front of nodes
//	figures.go    a measurement of clusters, from a corpus to the figures that are missed
//	refreshes.go  what a follower costs beside its writer, and a cluster beside none
//	pages.go      what a page costs there, and behind the balancer
//
// `make cluster` is such a cluster to try things out, with the simulated market. The
// torture of clusters uses the servers alone, because it puts proxies between them.
package cluster
