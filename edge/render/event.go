package render

import "tidemark/rankings/market"

// An event of a stream is three lines and an empty one:
//
//	event: changed
//	id: 1:17,42161:18/3
//	data: {"rank":null, …}
//
// Its data is JSON, which has no line break.

// BeginEvent appends an event up to its data. place is its place among the events
// of its generations; 0 is behind all of them.
func BeginEvent(dst []byte, name, generations string, place int) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\nid: "...), generations...)
	dst = integer(append(dst, '/'), int64(place))
	return append(dst, "\ndata: "...)
}

// EndEvent appends the end of an event.
func EndEvent(dst []byte) []byte { return append(dst, "\n\n"...) }

// AppendGenerationEvent appends an event about generations as a whole.
func AppendGenerationEvent(dst []byte, name, generations string) []byte {
	dst = BeginEvent(dst, name, generations, 0)
	dst = String(append(dst, `{"generation":`...), generations)
	return EndEvent(append(dst, '}'))
}

// AppendReorgEvent appends the event of a reorganisation: the rows of a chain that
// are to be asked for again.
func AppendReorgEvent(
	dst []byte, generations string, place int, chain market.ChainID, ids []string,
) []byte {
	dst = BeginEvent(dst, "reorg", generations, place)
	dst = integer(append(dst, `{"chainId":`...), chain)
	dst = append(dst, `,"ids":[`...)
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = String(dst, id)
	}
	return EndEvent(append(dst, "]}"...))
}

// AppendEndEvent appends the last event of a stream. It has no id, so that a client
// goes on behind the event before.
func AppendEndEvent(dst []byte, reason string) []byte {
	dst = String(append(dst, "event: end\ndata: {\"reason\":"...), reason)
	return EndEvent(append(dst, '}'))
}

// Comment is sent to streams without events, so that nothing on the way takes the
// connection for dead.
const Comment = ": \n\n"
