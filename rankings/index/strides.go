package index

// StrideRows is how many rows are processed between two calls of pause, which
// costs some 30 ns when it is not yet time to pause. The dearest of them, keys
// of rows that are not in the processor's cache, take 100 µs.
const StrideRows = 1 << 12

// InStrides calls work for the rows from 0 to n, a stride at a time, and pause
// after each, so that a build does not delay readers on a machine with few cores.
func InStrides(n int, pause func(), work func(from, to int)) {
	for from := 0; from < n; from += StrideRows {
		work(from, min(from+StrideRows, n))
		pause()
	}
}

// StrideColdRows is StrideRows for work that reads a record or two of every row,
// which are hardly ever in the processor's cache.
const StrideColdRows = 1 << 9

// InTurns returns compare with a pause after every StrideColdRows-th call, for
// sorts and merges of an index.
func InTurns[T any](compare func(a, b T) int, pause func()) func(a, b T) int {
	calls := 0
	return func(a, b T) int {
		if calls++; calls%StrideColdRows == 0 {
			pause()
		}
		return compare(a, b)
	}
}
