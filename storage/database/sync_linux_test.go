package database

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// TestSyncsAside checks that files and directories are synced, many at once, and that
// what cannot be synced is an error of the name.
func TestSyncsAside(t *testing.T) {
	if !SyncsAside() {
		t.Fatal("the kernel takes no syncs")
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 3 * cap(syncers) {
		all.Go(func() {
			name := filepath.Join(dir, string(rune('a'+i)))
			f, err := SystemFS.Create(name, vfs.WriteCategoryUnspecified)
			must(err)
			for range 10 {
				_, err = f.Write([]byte("x"))
				must(err)
				must(f.SyncData())
				must(f.Sync())
			}
			must(f.Close())
		})
	}
	all.Wait()
	if len(syncers) != cap(syncers) {
		t.Errorf("%d syncers are kept, want %d", len(syncers), cap(syncers))
	}

	d, err := SystemFS.OpenDir(dir)
	must(err)
	must(d.Sync())
	must(d.Close())

	in, out, err := os.Pipe()
	must(err)
	defer in.Close()
	defer out.Close()
	if taken, err := syncAside(out.Fd(), opSync); taken {
		t.Errorf("a pipe was synced: %v", err)
	}
	full := &asideFile{name: "n"}
	var path *os.PathError
	if err := full.explain(unix.ENOSPC); !errors.As(err, &path) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("an error is %v; want a PathError of ENOSPC", err)
	}
}

// Others run while a file is synced, although there is one processor. Other processes may
// take that processor meanwhile, so one sync of several is enough.
func TestSyncLeavesTheProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var took, waited time.Duration
	for range 5 {
		if took, waited = syncBesideOthers(t); took < 20*time.Millisecond || waited <= took/2 {
			return
		}
	}
	t.Errorf("others waited for %v of a sync of %v", waited, took)
}

// syncBesideOthers returns how long a sync of 32 MiB took, and how long a goroutine that
// yields all the time did not run meanwhile, at most.
func syncBesideOthers(t *testing.T) (took, waited time.Duration) {
	f, err := SystemFS.Create(filepath.Join(t.TempDir(), "f"), vfs.WriteCategoryUnspecified)
	must(err)
	defer f.Close()
	_, err = f.Write(make([]byte, 32<<20))
	must(err)

	longest, stop := make(chan time.Duration), make(chan struct{})
	go func() {
		var most time.Duration
		for last := time.Now(); ; {
			select {
			case <-stop:
				longest <- most
				return
			default:
			}
			runtime.Gosched()
			now := time.Now()
			most, last = max(most, now.Sub(last)), now
		}
	}()
	began := time.Now()
	must(f.Sync())
	took = time.Since(began)
	close(stop)
	return took, <-longest
}
