package rankings

// stretch is how many rows are worked on between two pauses: some 100 µs.
const stretch = 1 << 15

// inStretches calls work for the rows from 0 to n, and pause in between, so
// that readers are not held up behind a build on a machine with few cores.
func inStretches(n int, pause func(), work func(from, to int)) {
	for from := 0; from < n; from += stretch {
		work(from, min(from+stretch, n))
		pause()
	}
}
