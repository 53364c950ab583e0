// Package balancer passes requests on to the nodes of a cluster: to each in turn, as
// long as its /health answers 200. A request that a node does not answer goes to the
// next one, which is right because every request only reads. It may then be charged
// twice.
//
//	balancer.go  which node is asked
//	node.go      one node: whether it is healthy, and how it is asked
//
// It is for trying out a cluster on one machine, and for measuring what a page costs
// behind it. It has no TLS, no limits, and nothing to configure.
package balancer
