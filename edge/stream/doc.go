// Package stream finds out which streams of events an event concerns, and hands
// each stream the bytes to send. It knows nothing about HTTP.
//
//	hub.go      one pass over the changes of a generation, for all streams
//	watch.go    what a stream watches, and the index from that to streams
//	tell.go     which streams are told of a change
//	events.go   changes -> events, rendered once for all streams
//	resume.go   where a stream begins, and what it missed
//	stream.go   what one stream has to send
//	wheel.go    comments and units, by one ticker
//	limits.go   every bound with its reason
//
// Writers publish what each generation changed in the log of the board. One
// goroutine, the hub's, polls the board a few times a second while there are
// streams. It looks up every change in the index, renders the row once if somebody
// watches it, and queues the same bytes for all those streams. A stream that nothing
// concerns costs an entry in the index and a place on the wheel.
//
// The id of an event is the generations of all chains after the step that it is
// part of, and its place in that step; place 0 is behind all of it:
//
//	id: 1:17,42161:18/3    the third change of the step that led to 1:17,42161:18
//	id: 1:17,42161:18/0    everything up to there has been told
//
// Every stream has the same ids, and they do not depend on what it watches. A stream
// that comes back with an id goes through the log from there. The rendered rows are
// kept as long as the log, also for a while after the last stream that watched them
// left, so that it gets the same bytes as if it had stayed. A row that nobody watched
// is rendered as it is now.
package stream
