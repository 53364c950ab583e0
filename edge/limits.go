package edge

import "time"

// Limits bound what answers wait for and hold; api.md gives each its meaning.
// A wait of 0 or 1 ns does not wait. DefaultLimits are the documented ones.
type Limits struct {
	Freshness           time.Duration // older data is served only flagged stale
	TotalCap            int           // counting rows stops here
	CountWait           time.Duration // how long a list waits for its count
	ScanWait            time.Duration // how long a deep page waits for its selection
	TransactionsWait    time.Duration // how long a detail waits for its history
	TransactionsPartial int           // entries of a partial history
	TransactionsMax     int           // entries of the longest history
	UnavailableAfter    time.Duration // a chain whose data is older is left out
	Selections          int           // selections that run or are pinned at once
}

// DefaultLimits returns the documented limits.
func DefaultLimits() Limits {
	return Limits{
		Freshness: 45 * time.Second, TotalCap: 25_000,
		CountWait: 2 * time.Second, ScanWait: 2 * time.Second, TransactionsWait: 2 * time.Second,
		TransactionsPartial: 1000, TransactionsMax: 100_000,
		UnavailableAfter: 10 * time.Minute, Selections: 64,
	}
}

// Bounds of connections and requests. They are constants because changing one
// needs the reason that stands beside it, not a file.
const (
	// maxHead bounds a request's line and headers: it is the read buffer of
	// every connection. The longest honest request, a search of 64 escaped
	// characters with a key and a browser's headers, has about 2 KB.
	maxHead = 8 << 10
	// maxBody bounds the body that is read to be refused.
	maxBody = 16 << 10
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
	// maxConnections bounds the buffers: (8 + 4) KB each is 96 MB.
	maxConnections = 8192
	// maxConnectionsPerAddress leaves room for others beside one client, and
	// for a proxy or a load test behind one address. IPv6 counts by /64.
	maxConnectionsPerAddress = 2048
	// feedGrace is how long a chain's feed may fail before /health says so:
	// one lost request is mended by the next.
	feedGrace = 5 * time.Second
	// refuseTimeout bounds the write of an answer to a refused connection.
	refuseTimeout = time.Second

	// packFrom is the smallest body worth compressing: below, it fits one
	// packet anyway.
	packFrom = 1 << 10

	// pageCacheBytes holds two generations of every page that is asked for
	// more than once in the few seconds that it lives.
	pageCacheBytes = 256 << 20
	// maxKept keeps a single long history from taking the room of a thousand
	// pages.
	maxKept = 1 << 20
	// pageTTL outlives every generation; it only frees what nobody can ask for.
	pageTTL = time.Minute
	// leafCacheBytes holds the decoded leaves of about 10 million rows.
	leafCacheBytes = 64 << 20

	// stepRows is how many rows a walk, count or selection goes on between
	// two looks at the clock: 10 to 100 µs.
	stepRows = 4096
	// maxQueued bounds the work that waits for its turn beside requests.
	maxQueued = 1024
	// maxCopies is how many last served copies of deep pages are kept.
	maxCopies = 256
	// maxHistories is how many histories load or are kept at once.
	maxHistories = 64
	// historyStep is how many entries of a history are read between two looks
	// at the clock.
	historyStep = 64
	// entryBytes is about what an entry of a history is long.
	entryBytes = 768
	// chartBytes and chartDayBytes are about what charts are long, beside their
	// days and for each.
	chartBytes, chartDayBytes = 32 << 10, 1 << 10
	// maxLeafRetries bounds how often a page whose leaf was deleted under it
	// is begun anew on the newest view; twice takes two generations within it.
	maxLeafRetries = 4
	// retryAfter is what a 503 asks to wait that ends by itself soon.
	retryAfter = time.Second
)
