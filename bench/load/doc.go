// Package load asks an HTTP server questions, many at once, and measures the
// answers so that the figures can be believed.
//
// A load generator lies in five well-known ways; this is how each is avoided.
//
// It waits for a slow server. In a closed loop a connection asks again when it
// was answered, so that a server that stalls for a second loses one sample a
// connection. In an open loop (Config.Rate) the moment of every request is a
// function of its number alone (Pace), and its latency counts from that moment
// whether or not a connection was free: what a user would have waited. An answer
// that is under way when the time is over counts with its latency too.
//
// It sleeps. A timer that fires half a millisecond late is half a millisecond
// of latency that no server caused, and to wake a client is work of the server's
// kernel. A worker owns its thread, its epoll and its connections, sleeps only
// while the next request is at least 2 ms away, and polls below. In a closed loop
// it polls throughout if it has a core of its own (Config.Polls).
//
// It is the bottleneck. A worker reads with one buffer, parses only the head,
// and counts the body; only some answers of each second are kept, and they are looked
// at (Config.Check) when the run is over. The CPU of client and server stand next to
// every figure, without what was polled for nothing: a client at its limit says nothing
// about the server.
//
// It is late. What else runs on its core keeps it from sending what is due and from
// reading what has come. How long at most stands next to the latencies, for each
// percentile by itself.
//
// It averages. Latencies go to HDR histograms with three digits, from 1 µs to
// a minute; nothing is thrown away.
//
// Constant is the other half of a measurement: the fastest server that this
// stack can be, to be asked in the same run for bodies of the same size.
//
//	mix.go       what is asked, and when
//	run.go       one measurement, from the configuration to the result
//	worker.go    a thread with its connections, which asks and reads answers
//	conn.go      one connection, and the head of a response
//	counts.go    what answers add up to
//	turns.go     several measurements in turns, and what they say together
//	constant.go  the limit
//	numbers.go   the numbers of an answer, for a yardstick of rendering
//
// The package needs Linux: epoll and /proc.
package load
