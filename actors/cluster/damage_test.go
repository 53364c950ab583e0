package cluster

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// damages is how often something is damaged at random.
func damages(usual, quick, full int) int {
	switch os.Getenv("TIDEMARK_TORTURE") {
	case "quick":
		return quick
	case "full":
		return full
	}
	return usual
}

// clones returns messages that may be damaged.
func clones(messages [][]byte) (all [][]byte) {
	for _, m := range messages {
		all = append(all, slices.Clone(m))
	}
	return all
}

// flipBit flips a random bit of random messages.
func flipBit(messages [][]byte) {
	m := messages[rand.IntN(len(messages))]
	m[rand.IntN(len(m))] ^= 1 << rand.IntN(8)
}

// Whichever bit of a cut is flipped, and whatever part of it is missing, nothing of it is
// taken.
func TestAnyDamageOfACutIsRefused(t *testing.T) {
	count := damages(200, 2000, 100_000)
	batch := noise(PartBytes + 1000)
	cut, hash, err := encodeCut(Place{}, batch, []byte("note"))
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := encodeCut(Place{Number: 1, Hash: hash}, []byte("two"), nil)
	if err != nil {
		t.Fatal(err)
	}

	flipped, missing := 0, 0
	for i := range count {
		damaged := clones(cut)
		switch lost := rand.IntN(len(cut)); {
		case i%10 == 0:
			damaged = slices.Delete(damaged, lost, lost+1)
			missing++
		case i%10 == 1:
			damaged[lost] = damaged[lost][:rand.IntN(len(damaged[lost]))]
			missing++
		default:
			flipBit(damaged)
			flipped++
		}

		a := assembly{}
		if got, err := addAll(&a, append(damaged, next...)); got != nil || !errors.Is(err, ErrBroken) {
			t.Fatalf("a damaged cut is taken: %v, %v", got != nil, err)
		}
	}
	t.Logf("figure: %d cuts with a flipped bit and %d with a part missing or cut off: 0 taken", flipped, missing)
}

func addAll(a *assembly, messages [][]byte) (cut *Cut, err error) {
	for i, m := range messages {
		if cut, err = a.add(uint64(i+1), m); cut != nil || err != nil {
			return cut, err
		}
	}
	return nil, nil
}

// Whichever bit of a snapshot is flipped, and wherever it is cut off, it is refused.
func TestAnyDamageOfASnapshotIsRefused(t *testing.T) {
	count := damages(10, 50, 1000)
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	appends(t, ch, []byte("one"))
	puts(t, ch, noise(PartBytes+100))
	snapshot := lists(t, ch)[0]
	var whole [][]byte
	replaceChunks(t, ch.c, snapshot, func(chunks [][]byte) [][]byte {
		whole = clones(chunks)
		return chunks
	})

	truncated := 0
	for i := range count {
		replaceChunks(t, ch.c, snapshot, func([][]byte) [][]byte {
			damaged := clones(whole)
			if i%5 != 0 {
				flipBit(damaged)
				return damaged
			}

			truncated++
			last := rand.IntN(len(damaged))
			damaged[last] = damaged[last][:rand.IntN(len(damaged[last]))]
			return damaged[:last+1]
		})
		if _, err := readSnapshot(t.Context(), ch, snapshot); !errors.Is(err, ErrBroken) {
			t.Fatalf("a damaged snapshot is answered %v", err)
		}
	}

	replaceChunks(t, ch.c, snapshot, func([][]byte) [][]byte { return whole })
	if _, err := readSnapshot(t.Context(), ch, snapshot); err != nil {
		t.Errorf("the snapshot as it was is answered %v", err)
	}
	t.Logf("figure: %d snapshots with a flipped bit and %d cut off: 0 taken", count-truncated, truncated)
}
