package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestInsertionPauses: a batch pauses while its keys are inserted, and nothing else that
// compares keys at that time does. Of two batches at once one pauses.
func TestInsertionPauses(t *testing.T) {
	order := new(keyOrder)
	db, err := pebble.Open("store", &pebble.Options{FS: vfs.NewMem(), Comparer: order.comparer()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	const least, keys = 45, 50 * comparisonsPerPause
	batchOf := func(table byte) *pebble.Batch {
		b := db.NewBatch()
		for i := range keys {
			must(b.Set([]byte{table, byte(i >> 8), byte(i)}, []byte("value"), nil))
		}
		return b
	}
	apply := func(b *pebble.Batch, pause func()) {
		defer order.pausing(b, pause)()
		must(db.Apply(b, pebble.Sync))
	}

	pauses, within, other := 0, 0, batchOf(2)
	apply(batchOf(1), func() {
		pauses++
		end := order.pausing(other, func() { within++ }) // it is committed at the same time
		order.compare(other.Repr()[20:], other.Repr()[40:])
		if _, closer, err := db.Get([]byte{1}); err == nil {
			closer.Close()
		}
		end()
	})
	if pauses < least || within != 0 {
		t.Errorf("%d keys: %d pauses, and %d of another batch; want %d and 0", keys, pauses, within, least)
	}

	apply(batchOf(3), nil)
	if order.insertion.Load() != nil {
		t.Error("an insertion is under way; want none")
	}

	for _, table := range []byte{1, 3} {
		value, closer, err := db.Get([]byte{table, 0, 7})
		if err != nil || string(value) != "value" {
			t.Fatalf("table %d: %q, %v", table, value, err)
		}
		closer.Close()
	}
}
