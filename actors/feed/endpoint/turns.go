package endpoint

import (
	"io"
	"runtime"
)

// decoding has a place for every answer that may be decoded at once: all processors but
// one, which is for whoever takes what is decoded. Dozens of answers that come together
// would else take turns with it, 10 ms each.
var decoding = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// decodeInTurn reads the answers to calls once it has a place.
func decodeInTurn(body io.Reader, room *room, calls []Call) error {
	decoding <- struct{}{}
	defer func() { <-decoding }()
	return readAnswers(turnReader{body}, room, calls)
}

// turnReader is a body that is decoded in turn. Its reader gives up its place while it
// waits for more to come, so that a slow node holds up no other.
type turnReader struct{ body io.Reader }

// Read implements io.Reader.
func (t turnReader) Read(p []byte) (int, error) {
	<-decoding
	defer func() { decoding <- struct{}{} }()
	return t.body.Read(p)
}
