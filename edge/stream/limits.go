package stream

import "time"

// Bounds of streams. They are constants and not settings, because a change needs
// the reason that stands beside each.
const (
	// pollEvery is how often the hub polls the board: an event is told that much later
	// at most, and a poll is one atomic load.
	pollEvery = 100 * time.Millisecond
	// commentEvery is how often a quiet stream gets a comment. Proxies close a
	// connection that is silent for 30 seconds or more. It divides a minute.
	commentEvery = 15
	// turn is the seconds of the wheel: a stream pays once a turn.
	turn = 60

	// batchBytes is how much of what a stream missed is rendered at a time: it is all
	// that a client which reads slowly has in memory.
	batchBytes = 64 << 10
	// keptBytes is how much of rendered rows is kept for streams that come back: some
	// 16,000 rows. Older ones are rendered again, as they are then.
	keptBytes = 32 << 20
	// maxLingering is how many watched rows and owners without a stream are kept in
	// the index, for streams that come back: 20 MB.
	maxLingering = 100_000
)
