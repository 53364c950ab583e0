// Package process starts the servers that are measured, keeps them and the
// load generator on cores of their own, and reads what they take of the
// machine. The bench suite and the comparison with databases share it.
//
//	cores.go      which cores serve and which ask
//	child.go      a server as a child process: start, address, output, stop
//	node.go       a tidemark node as a child, or one that runs elsewhere
//	readings.go   CPU time, memory and disk writes, from /proc
//
// The package needs Linux.
package process
