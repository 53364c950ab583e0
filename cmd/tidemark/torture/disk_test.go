package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// diskBytes is the size of the disk. The node writes again when 640 MB are free
	// besides a ballast of 64 MB; logs of 71 MB each take most of the rest.
	diskBytes = 1280 << 20
	// fullLeaves is what a full disk has left.
	fullLeaves = 8 << 20
	// badDisk is how long a disk stays full or frozen: longer than the leases that are
	// open, and than a batch of charges may take.
	badDisk = 2500 * time.Millisecond
	// diskNoticed is how long /health may take to tell of it, and diskRecovers until
	// everything is served again.
	diskNoticed, diskRecovers = 4 * time.Second, 2 * time.Second
	// answerBound is the longest that an answer may take meanwhile.
	answerBound = 2 * time.Second
)

// TestDisk fills and freezes the disk of a node under load, a file system of its own
// on a loop device, again and again. Free routes answer, and so do all metered ones of
// an account without a quota on a full disk; other answers are a 503 and quick.
// /health tells of it, and within two seconds of a good disk everything is served. No
// unit is lost or charged twice.
func TestDisk(t *testing.T) {
	cycles := share(t, 1, 20)
	d := newDisk(t)
	n := newNode(t, smallMarket)
	n.dir = filepath.Join(d.mount, "data")
	if err := os.WriteFile(n.dir+".toml", []byte(smallMarket), 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	rich, poor := n.customer("rich", "unlimited"), n.customer("poor", "growth")
	n.await("a good disk", func() bool { return n.diskStatus() == "ok" })

	var all crowd // over all cycles
	paced := int64(0)
	var noticed time.Duration
	var recovered [2]time.Duration // after a full, and a frozen disk
	for i := range 2 * cycles {
		spoil, mend, slow := d.fill, d.empty, false
		if i%2 == 1 {
			spoil, mend, slow = d.freeze, d.thaw, true
		}

		var w crowd
		w.mix.filters.Store(int64(i) << 24)
		end := make(chan struct{})
		clients := w.ask(n.address(), rich, 4, end)
		began := time.Now()
		spoil()
		noticed = max(noticed, n.awaitDisk(began, false))
		paced += n.spend(poor)
		time.Sleep(time.Until(began.Add(badDisk)))
		mended := time.Now()
		mend()
		recovered[i%2] = max(recovered[i%2], n.awaitServed(mended, poor, &paced))
		n.awaitDisk(mended, true)
		close(end)
		clients.Wait()

		w.check(t)
		if w.unanswered > 0 || w.slowest > answerBound {
			t.Errorf("%d requests were not answered, the slowest answer took %s", w.unanswered, w.slowest)
		}
		if !slow && w.refused*100 > w.answers {
			t.Errorf("on a full disk %d of %d answers to an account without a quota were refused", w.refused, w.answers)
		}
		all.answers, all.units, all.refused = all.answers+w.answers, all.units+w.units, all.refused+w.refused
		all.slowest = max(all.slowest, w.slowest)
	}

	n.checkUnits("rich", all.units)
	n.checkUnits("poor", paced)
	figure(t, "disk full %d times and frozen %d times under load: %d answers, %d refused, the slowest took %s; told by "+
		"/health after %s, new generations after %s and %s; %d units, all charged once",
		cycles, cycles, all.answers, all.refused, all.slowest.Round(time.Millisecond),
		noticed.Round(time.Millisecond), recovered[0].Round(time.Millisecond), recovered[1].Round(time.Millisecond),
		all.units+paced)
	n.stop()
	if said, err := n.run("check", "--data", n.dir); err != nil {
		t.Errorf("the data afterwards: %v: %s", err, said)
	}
}

// diskStatus is what /health says of the disk.
func (n *node) diskStatus() string {
	_, body, err := get(n.url+"/health", "")
	if err != nil {
		n.t.Fatal(err)
	}
	_, disk, _ := strings.Cut(body, `"disk":{"status":"`)
	status, _, _ := strings.Cut(disk, `"`)
	return status
}

// awaitDisk waits until /health says that the disk is good, or not, and returns how
// long that took.
func (n *node) awaitDisk(began time.Time, good bool) time.Duration {
	n.t.Helper()
	for (n.diskStatus() == "ok") != good {
		if time.Since(began) > diskNoticed {
			n.t.Fatalf("/health says %q of the disk %s later; want it good: %v", n.diskStatus(), diskNoticed, good)
		}
		time.Sleep(pollEvery)
	}
	return time.Since(began)
}

// spend has an account with a quota ask for charts until its lease is used up, and
// returns the units.
func (n *node) spend(key string) (units int64) {
	n.t.Helper()
	c, err := dial(n.address(), key)
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.close()

	for end := time.Now().Add(badDisk); time.Now().Before(end); {
		a, err := c.ask("/v1/positions/1/swapdex-v4/7/charts")
		if err != nil {
			n.t.Fatal(err)
		}
		if units += a.units; a.status == 503 {
			return units
		}
		if a.status == 429 {
			time.Sleep(pollEvery)
		}
	}
	n.t.Error("an account with a quota was never refused, although nothing could be written")
	return units
}

// awaitServed waits until an account with a quota is served and every chain goes on.
func (n *node) awaitServed(mended time.Time, key string, units *int64) time.Duration {
	n.t.Helper()
	c, err := dial(n.address(), key)
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.close()

	for first := ""; ; time.Sleep(pollEvery) {
		a, err := c.ask("/v1/pools?limit=1")
		if err != nil {
			n.t.Fatal(err)
		}
		*units += a.units
		if a.status == 200 && first == "" {
			first = a.generation
		}
		if a.status == 200 && a.generation != first {
			break
		}
		if time.Since(mended) > startTimeout {
			n.t.Fatalf("not served %s after the disk was good: %d %s", startTimeout, a.status, a.body)
		}
	}
	took := time.Since(mended)
	if took > diskRecovers+time.Second { // the next block of a chain comes within a second
		n.t.Errorf("a new generation came %s after the disk was good; cannot exceed %s", took, diskRecovers)
	}
	return took
}

// checkUnits compares what an account was charged with its answers.
func (n *node) checkUnits(account string, units int64) {
	n.t.Helper()
	if used := n.unitsUsed(account); used != units {
		n.t.Errorf("%s was charged %d units; its answers say %d", account, used, units)
	}
}

// disk is a file system on a loop device. It needs root.
type disk struct {
	t             *testing.T
	mount, filler string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	d := &disk{t, filepath.Join(dir, "mount"), filepath.Join(dir, "mount", "filler")}
	image := filepath.Join(dir, "image")
	if err := os.Mkdir(d.mount, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, diskBytes); err != nil {
		t.Fatal(err)
	}

	for _, command := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-m", "0", image}, {"mount", "-o", "loop", image, d.mount},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			figure(t, "disk full and frozen: not measured, because this machine allows no loop device: %v %s", err, out)
			t.Skip("needs a loop device")
		}
	}
	t.Cleanup(func() {
		exec.Command("fsfreeze", "-u", d.mount).Run()
		d.run("umount", d.mount)
	})
	return d
}

func (d *disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Errorf("%s: %v: %s", name, err, out)
	}
}

// fill takes all space but fullLeaves.
func (d *disk) fill() {
	d.t.Helper()
	var s unix.Statfs_t
	err := unix.Statfs(d.mount, &s)
	var f *os.File
	if err == nil {
		f, err = os.Create(d.filler)
	}
	if err == nil {
		defer f.Close()
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(s.Bavail)*s.Bsize-fullLeaves)
	}

	if err != nil {
		d.t.Fatal(fmt.Errorf("cannot fill the disk: %w", err))
	}
}

func (d *disk) empty() {
	d.t.Helper()
	if err := os.Remove(d.filler); err != nil {
		d.t.Fatal(err)
	}
}

// freeze has every write wait.
func (d *disk) freeze() { d.run("fsfreeze", "-f", d.mount) }

func (d *disk) thaw() { d.run("fsfreeze", "-u", d.mount) }
