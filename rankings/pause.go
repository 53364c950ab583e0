package rankings

// strideRows is how many rows are processed between two calls of pause, which
// costs some 30 ns when it is not yet time to pause. The dearest of them, keys
// of rows that are not in the processor's cache, take 100 µs.
const strideRows = 1 << 12

// inStrides calls work for the rows from 0 to n, a stride at a time, and pause
// after each, so that a build does not delay readers on a machine with few cores.
func inStrides(n int, pause func(), work func(from, to int)) {
	for from := 0; from < n; from += strideRows {
		work(from, min(from+strideRows, n))
		pause()
	}
}

// strideColdRows is strideRows for work that reads a record or two of every row,
// which are hardly ever in the processor's cache.
const strideColdRows = 1 << 9

// inTurns returns compare with a pause after every strideColdRows-th call, for
// sorts and merges of an index.
func inTurns[T any](compare func(a, b T) int, pause func()) func(a, b T) int {
	calls := 0
	return func(a, b T) int {
		if calls++; calls%strideColdRows == 0 {
			pause()
		}
		return compare(a, b)
	}
}
