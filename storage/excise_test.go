package storage

import (
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A start that is killed while it removes a damaged first block, or writes again what chains
// share, leaves that to the next one: nothing is set aside, and the other chain is whole.
func TestKilledAfterDamagedFirstBlock(t *testing.T) {
	damaged, _, two := damagedMarket(t, func(fs vfs.FS) { flipTables(t, fs, []byte("identity")) })
	disk := vfs.NewCrashableMem()
	_, err := vfs.Clone(damaged, disk, "", "", vfs.CloneSync)
	must(err)
	var mu sync.Mutex
	var killed []vfs.FS // what the disk has before each operation that changes it
	watched := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			killed = append(killed, disk.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	}))
	closeTest(t, openTest(t, watched))

	for i, fs := range killed {
		for range 2 {
			s := openTest(t, fs)
			if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) || !s.Offline(42161) {
				t.Errorf("killed before operation %d: identity %v, offline %v", i, got, s.Offline(42161))
			}
			if s.Rollback(42161) != nil || s.Damaged(42161) != nil || s.header.Excised {
				t.Errorf("killed before operation %d: chain 42161: %v, %v", i, s.Rollback(42161), s.Damaged(42161))
			}
			holds(t, s, two)
			closeTest(t, s)
		}
		if aside, _ := fs.List("data.damaged"); len(aside) > 0 {
			t.Errorf("killed before operation %d: set aside are %v", i, aside)
		}
	}
	if len(killed) < 20 {
		t.Errorf("killed %d times; want more", len(killed))
	}
}
