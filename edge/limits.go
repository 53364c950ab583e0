package edge

import "time"

// Bounds of connections and requests. They are constants and not settings,
// because a change needs the reason that stands beside each.
const (
	// maxTarget bounds the path and query of a request. The longest useful one,
	// with a search of 64 escaped characters or a hundred ids, has 7 KB.
	maxTarget = 8 << 10
	// maxHead bounds a request's line and headers: it is the read buffer of
	// every connection. A key and a browser's headers have about 2 KB.
	maxHead = 16 << 10
	// maxBodyHeaders bounds the headers of a request with a body, which is waited for. Each
	// takes some 80 bytes meanwhile, however short it is: 16 KB of empty ones would take 20
	// times as much. Proxies and browsers send some thirty.
	maxBodyHeaders = 128
	// keptHead is the size up to which the room for a head stays with its connection, so
	// that the next one needs no new room. Usual heads have less than 1 KB.
	keptHead = 4 << 10
	// keptHeaders is the same for the table that fasthttp makes of one head's headers. It
	// reuses a header's room for the one in the same place of the next head: where each has
	// one long header in another place, the table would come to 30 MB on one connection,
	// and with this bound comes to five times it.
	keptHeaders = 32 << 10
	// headerRoom is what an entry of that table takes beside its text.
	headerRoom = 56
	// maxBody bounds a request body. No route accepts one, but a small one is
	// read before the request is refused.
	maxBody = 16 << 10
	// maxBodyBytes bounds a body including its chunk headers and extensions.
	maxBodyBytes = 2 * maxBody
	// writeBuffer holds the head of every answer and the body of a short one,
	// so that they are sent by one write: two cost a third of the throughput.
	writeBuffer = 4 << 10
	// readTimeout bounds the time from a request's first byte to its last, and
	// the wait for the first byte of a connection. Without it a silent client
	// would hold its connection, and a shutdown, for ever.
	readTimeout = 10 * time.Second
	// writeTimeout bounds the sending of an answer. It is enough for 100 MB of
	// transactions on a slow line. limitSending sets it, since fasthttp's WriteTimeout
	// would read the clock once more.
	writeTimeout = 60 * time.Second
	// lingerTime and lingerBytes bound what is dropped of a request that was refused before
	// its end, and of requests behind the last one that is answered: enough for a head or a
	// body of the sizes that clients send by mistake.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
	// idleTimeout is longer than the keep-alive of common proxies, so that
	// they close first and never send into a closing connection.
	idleTimeout = 90 * time.Second
	// deadlineSlack is how much too early a deadline may be, so that it need not
	// be set again for every request.
	deadlineSlack = time.Second
	// minConnections is the least cap, however low the open-files limit is.
	minConnections = 64
	// otherFiles is the most that is left of the open-files limit for what is no
	// connection of a client: each store keeps up to a thousand tables open.
	otherFiles = 4096
	// evictBatch is how many idle connections are closed at once. Each search
	// visits all connections, so it should make room for several new ones.
	evictBatch = 32
	// acceptPause is how long accepting pauses when file descriptors run out.
	acceptPause = 20 * time.Millisecond
	// unsentPerAddress is roughly the unread data that the kernel holds for all
	// clients of one address: the n-th connection gets an n-th of it.
	unsentPerAddress = 32 << 20
	// minUnsent is the least buffer of a connection: the head of an answer and a
	// compressed page fit.
	minUnsent = 16 << 10
	// longAnswer is the length from which a client must read at the minimum
	// rate. A shorter answer fits the kernel's buffer.
	longAnswer = 64 << 10
	// slowReaderGrace is added to the time that the minimum rate allows, since
	// connections start slowly.
	slowReaderGrace = 5 * time.Second
	// refuseTimeout bounds the write of an answer to a refused connection.
	refuseTimeout = time.Second

	// longFlush is how much of a long answer is collected before it is sent: about
	// twenty rows, and few system calls beside the work of rendering them.
	longFlush = 48 << 10
	// maxPackers bounds the exports that are compressed at once, by the memory of their
	// encoders: under a MB each. Others are sent as they are.
	maxPackers = 64
	// longCheck is how often long answers are checked for keys that were revoked.
	// Looking at ten thousand of them takes less than a millisecond.
	longCheck = time.Second
	// closeTime is what a long answer that has to end gets to say so. A shutdown
	// waits as long for clients that do not read.
	closeTime = time.Second

	// packFrom is the size from which a body is compressed. A smaller one fits
	// one network packet anyway.
	packFrom = 1 << 10

	// refusedRetry is the Retry-After of a refused connection.
	refusedRetry = time.Second
	// healthRetry is the Retry-After, in seconds, of /health when no chain can be
	// served.
	healthRetry = "5"
)
