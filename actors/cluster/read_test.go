package cluster

import (
	"testing"
	"time"
)

// A node takes cuts from the leader of the stream while the copy that it reads lacks them,
// at once if the writer told of them, and before it writes.
func TestCopyThatIsBehind(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", true)
	elected(t, b)

	b.c.stream = b.c.objects // another stream stands for the copy: it has none of the cuts
	batches := [][]byte{noise(10), noise(2*PartBytes + 5), noise(20)}
	for _, batch := range batches {
		at := appends(t, a, batch)
		took := time.Now()
		a.Tell([]byte("{}"))
		takes(t, b, batch, at)
		if since := time.Since(took); since > pollEvery {
			t.Errorf("a cut that the writer told of came after %s", since)
		}
	}

	at := appends(t, a, batches[0]) // b finds it before it is told to write
	takes(t, b, batches[0], at)
	elected(t, b)

	b.Resign()
	b.standing.Store(nil) // nobody tells of the next one
	b.lead.ready.Store(true)
	at = appends(t, a, batches[1])
	takes(t, b, batches[1], at)
}
