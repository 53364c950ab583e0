package edge

import "time"

// Bounds of connections and requests. They are constants because changing one
// needs the reason that stands beside it, not a file.
const (
	// maxTarget bounds the path and query of a request. The longest sensible
	// one, a search of 64 escaped characters or a hundred ids, has 7 KB.
	maxTarget = 8 << 10
	// maxHead bounds a request's line and headers: it is the read buffer of
	// every connection. A key and a browser's headers have about 2 KB.
	maxHead = 16 << 10
	// maxBody bounds the body that is read to be refused.
	maxBody = 16 << 10
	// maxBodyBytes bounds a body with what chunks put around it.
	maxBodyBytes = 2 * maxBody
	// writeBuffer holds the head of every answer and the body of a short one,
	// so that they leave in one write: two cost a third of the throughput.
	writeBuffer = 4 << 10
	// readTimeout is for a request from its first byte to its last, and for
	// the first byte of a connection; without it a silent client holds its
	// connection, and a stop, for ever.
	readTimeout = 10 * time.Second
	// writeTimeout is for an answer: 100 MB of transactions on a slow line.
	writeTimeout = 60 * time.Second
	// idleTimeout is longer than the keep-alive of common proxies, so that
	// they close first and never send into a closing connection.
	idleTimeout = 90 * time.Second
	// deadlineSlack is how much earlier than asked a connection may be given
	// up, so that its deadlines need not be set anew for every request.
	deadlineSlack = time.Second
	// minConnections are allowed whatever the open-files limit says.
	minConnections = 64
	// evictBatch is how many idle connections make room at once, so that a
	// flood pays one look at all of them for as many new connections.
	evictBatch = 32
	// acceptPause is how long accepting rests when descriptors have run out.
	acceptPause = 20 * time.Millisecond
	// unsentPerAddress bounds what clients of one address can make the kernel
	// keep unread, about: the share of the n-th connection is an n-th of it.
	unsentPerAddress = 32 << 20
	// minUnsent is the least that is kept for a connection: an answer's head
	// and the rows of a page, packed.
	minUnsent = 16 << 10
	// longAnswer is the length from which an answer may wait for its reader.
	longAnswer = 64 << 10
	// slowReaderGrace is for the start of a connection that is slow at first.
	slowReaderGrace = 5 * time.Second
	// refuseTimeout bounds the write of an answer to a refused connection.
	refuseTimeout = time.Second

	// packFrom is the smallest body worth compressing: below, it fits one
	// packet anyway.
	packFrom = 1 << 10

	// refusedRetry is the Retry-After of a connection that was one too many.
	refusedRetry = time.Second
	// healthRetry is that of /health when no chain can be served, in seconds.
	healthRetry = "5"
)
