package pages

import "time"

// Limits bound what answers wait for and hold; api.md gives each its meaning.
// A wait of 0 or 1 ns does not wait. DefaultLimits are the documented ones.
type Limits struct {
	Freshness           time.Duration `about:"older data is served only with the flag stale"`
	TotalCap            int           `about:"counting the rows of a list stops here"`
	CountWait           time.Duration `about:"how long a list waits for its count; 0s: not at all"`
	ScanWait            time.Duration `about:"how long a deep page waits for its selection"`
	TransactionsWait    time.Duration `about:"how long a position waits for its history"`
	TransactionsPartial int           `about:"entries of a partial history"`
	TransactionsMax     int           `about:"entries of the longest history"`
	UnavailableAfter    time.Duration `about:"a chain whose data is older is left out"`
	Selections          int           `about:"selections of filters that run or are kept"`
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

// Bounds of memory and of work. They are constants because whoever changes one
// needs the reason beside it.
const (
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
	// maxQueued bounds the jobs that wait for their turn.
	maxQueued = 1024
	// maxCopies is how many last served copies of deep pages are kept.
	maxCopies = 256
	// maxHistories is how many histories load or are kept at once.
	maxHistories = 64
	// historyStep is how many entries of a history are read between two looks
	// at the clock.
	historyStep = 64

	// rowBytes holds the row of a position.
	rowBytes = 4096
	// entryBytes is the usual length of an entry of a history.
	entryBytes = 768
	// chartBytes and chartDayBytes are the usual lengths of a chart without its
	// days, and of each day.
	chartBytes, chartDayBytes = 32 << 10, 1 << 10

	// maxLeafRetries bounds how often a page whose leaf was deleted while it was
	// read is begun again on the newest view. A second time needs two
	// generations within one page.
	maxLeafRetries = 4

	// retryAfter is the Retry-After of a 503 that ends by itself soon.
	retryAfter = time.Second
	// unavailableRetry is that of a missing chain: it has to catch up, or its
	// operator has to act.
	unavailableRetry = 5 * time.Second
	// feedGrace is how long a chain's feed may fail before /health says so:
	// the next request makes up for a single lost one.
	feedGrace = 5 * time.Second
)
