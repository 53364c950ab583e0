package pages

import "time"

// Limits bounds what answers wait for and how much they hold. A wait of 0 or 1 ns
// means not to wait. DefaultLimits returns the documented values.
type Limits struct {
	Freshness           time.Duration `about:"older data is flagged stale"`
	TotalCap            int           `about:"counts stop at this number of rows"`
	CountWait           time.Duration `about:"how long a list waits for its count"`
	ScanWait            time.Duration `about:"how long a deep page waits for its selection"`
	TransactionsWait    time.Duration `about:"how long a detail waits for its history"`
	TransactionsPartial int           `about:"entries of a partial history"`
	TransactionsMax     int           `about:"entries of the longest history"`
	UnavailableAfter    time.Duration `about:"a chain whose data is older is left out"`
	Selections          int           `about:"selections kept at once, running or pinned"`
	Queue               time.Duration `about:"how long expensive work waits for its turn"`
	Pin                 time.Duration `about:"how long a walk's generations are kept after each answer"`
	Pins                int           `about:"cuts of generations that walks keep at once"`
	ExportRows          int           `about:"rows of one export"`
	ExportTime          time.Duration `about:"how long one export may take"`
	StreamWindow        time.Duration `about:"how long changes are kept for streams that come back"`
}

// DefaultLimits returns the documented limits.
func DefaultLimits() Limits {
	return Limits{
		Freshness: 45 * time.Second, TotalCap: 25_000,
		CountWait: 2 * time.Second, ScanWait: 2 * time.Second, TransactionsWait: 2 * time.Second,
		TransactionsPartial: 1000, TransactionsMax: 100_000,
		UnavailableAfter: 10 * time.Minute, Selections: 64, Queue: 50 * time.Millisecond,
		Pin: time.Minute, Pins: 4, ExportRows: 100_000, ExportTime: 10 * time.Minute,
		StreamWindow: 10 * time.Minute,
	}
}

// Bounds of memory and work. They are constants and not settings, because a
// change needs the reason that stands beside each.
const (
	// pageCacheBytes holds some 6,800 pages of 20 rows. The first 200 of every order, of each
	// of three chains and of all, are 6,400. With half of it a list in five was rendered
	// again, which takes as long as to send five that are kept.
	pageCacheBytes = 384 << 20
	// maxKept is the largest body that is cached. Without it, one long history
	// would take the room of a thousand pages.
	maxKept = 1 << 20
	// maxBuffer is the largest buffer that is used again. A page of a hundred rows has
	// 300 KB.
	maxBuffer = 1 << 20
	// pageTTL is longer than a generation lives, of a chain that is followed. It frees the
	// memory of pages that are no longer asked for; where nothing moves a page is rendered
	// again as often, which is nothing beside its requests.
	pageTTL = 20 * time.Second
	// leafCacheBytes holds the decoded leaves of about 10 million rows.
	leafCacheBytes = 64 << 20

	// pastCacheBytes holds the past of some ten thousand pools and tokens: the 30 days of a
	// chart are 5 KB of a pool that is traded daily, and 1 KB of a token.
	pastCacheBytes = 32 << 20
	// chartPartsBytes holds the parts of some thousand pools, which most charts are of: a
	// pool has 20 to 30 KB for 30 days.
	chartPartsBytes = 32 << 20
	// maxChartPart is the largest part of a chart that is kept. That of a year would take
	// the room of ten pools.
	maxChartPart = 96 << 10

	// maxStarts is how many pages are remembered by where they begin: one for each walk that
	// goes on at once, 200 bytes each, of more walks than a node serves.
	maxStarts = 1024

	// stepRows is how many rows a walk, count or selection processes before it may
	// pause and checks whether to stop: 2 to 100 µs of work, since a row that is not
	// in the processor's cache costs 50 to 100 ns.
	stepRows = 1024
	// longChart is the number of points from which on a chart counts as expensive
	// work: reading and rendering them takes a millisecond or more.
	longChart = 366
	// longOwner is the number of positions from which on adding them up counts as
	// expensive work: reading them takes a millisecond or more.
	longOwner = 64 << 10
	// positionsPerPoint is how many positions of a pool an estimate looks at in the time
	// of one hour or day of its history.
	positionsPerPoint = 16
	// maxPin bounds the age of a pinned cut: what it does not share with newer
	// generations grows. A hundred rows a page and ten pages a second make 600,000
	// rows in that time.
	maxPin = 10 * time.Minute
	// joinPin is the age up to which a new walk joins a cut. Four of them at that
	// distance last for the minute that an idle pin does.
	joinPin = 15 * time.Second
	// renewedBy is by how much a cut seems younger, when another node tells of it again, if
	// it was renewed there: less than joinPin, by what messages and awaitFor can take.
	renewedBy = joinPin / 2
	// updateEvery is how often a node of a cluster lets go of what is kept for walks of other
	// nodes, while something is.
	updateEvery = time.Second
	// pollEvery is how often a walk or a detail looks whether the generations that it waits for
	// are there.
	pollEvery = 10 * time.Millisecond
	// tellEvery is how often a node tells the others of a walk that goes on: a small part
	// of limits.pin.
	tellEvery = 5 * time.Second
	// replacedFor is how long at least a view that was replaced can still be pinned for a walk
	// of another node: much longer than what is told is under way.
	replacedFor = 2 * time.Second
	// replacedWait is how long a detail waits for the view of blocks that replace others: the
	// writer commits them, and a follower also sorts its orders before that view is there.
	replacedWait = 2 * time.Second
	// awaitFor is how long a walk waits for generations that this node does not have yet.
	// A follower is behind its writer by milliseconds, on a busy machine by half a second.
	awaitFor = 2 * time.Second
	// maxBehind is how many generations behind a node may be for a walk to wait for it.
	maxBehind = 2
	// maxStreamBehind is the same for a stream, which waits in a goroutine that it has anyway:
	// what a chain makes in a minute. A node that is further behind is flagged stale.
	maxStreamBehind = 30
	// maxAwaited bounds the walks of other nodes that wait. Accounts share their cuts.
	maxAwaited = 256
	// maxExports bounds the exports under way. Each has a goroutine and, while it is
	// sent, 64 KB.
	maxExports = 512
	// maxAccountExports leaves room for others: an account needs one a list and chain.
	maxAccountExports = 16
	// exportRetry is the Retry-After of an export that has to wait for another one.
	exportRetry = 10 * time.Second
	// sweepEvery is how long what is kept of a replaced generation may keep it in memory
	// when nobody asks: a generation of a million positions has some 50 MB of its own, and
	// before one that has caught up with half an hour it had 250 MB.
	sweepEvery = time.Second
	// minSweep keeps the sweep of idle pins from spinning while a long answer
	// keeps one past its time.
	minSweep = time.Second
	// maxQueued bounds the jobs that run or wait for a slot.
	maxQueued = 1024
	// maxCopies bounds the last served copies of deep pages.
	maxCopies = 256
	// maxHistories bounds the histories that are loading. As many are kept for
	// limits.freshness however long they are, and up to maxKeptHistories while all have
	// no more than historyBytes: a client may ask for a whole page of positions before it
	// asks for the first one again.
	maxHistories     = 64
	maxKeptHistories = 512
	historyBytes     = 64 << 20
	// historyStep is how many entries of a history are read before its load
	// checks the time.
	historyStep = 64

	// asOfBytes is room for asOf and the flags of a partial answer.
	asOfBytes = 128
	// tokenBytes is the usual length of a token of a list.
	tokenBytes = 320

	// maxLeafRetries bounds how often a page is restarted on the newest view
	// because a leaf was deleted while it was read. Each restart takes two
	// generations within the time of one page.
	maxLeafRetries = 4

	// retryAfter is the Retry-After of a 503 that soon ends by itself.
	retryAfter = time.Second
	// unavailableRetry is the Retry-After of an unavailable chain: it has to
	// catch up, or its operator has to act.
	unavailableRetry = 5 * time.Second
	// feedGrace is how long a chain's feed may fail before /health reports it.
	// A single lost request is repeated within that time.
	feedGrace = 5 * time.Second
)
