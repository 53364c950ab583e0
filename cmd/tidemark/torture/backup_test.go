package torture

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Backups under load, and how long before and after a backup there is load. Metering
// writes every 100 ms, so what was charged a second before must be in the backup.
const (
	backupsQuick, backupsFull = 2, 20
	beforeBackup              = 1500 * time.Millisecond
	afterBackup               = 500 * time.Millisecond
)

// backedUp are pages of one chain each, so that a generation names their content.
var backedUp = []string{
	"/v1/positions?chainId=1", "/v1/positions?chainId=1&sort=pnl&status=all&page=3",
	"/v1/positions?chainId=42161&range=in&minValueUsd=10", "/v1/pools?chainId=43114&search=e",
	"/v1/pools?chainId=1&sort=fees", "/v1/positions/1/swapdex-v4/7",
	"/v1/positions/42161/swapdex-v4/5/explain", "/v1/positions/43114/swapdex-v4/3/charts?range=all",
}

// pages are the bodies of pages by generation and path.
type pages struct {
	mu   sync.Mutex
	seen map[string][]byte
}

// TestBackup makes backups of a node under load with a live feed, and starts a node on
// what each restores. Its pages are those that the first node had of the same
// generations, keys work, and usage lies between that of before and after.
func TestBackup(t *testing.T) {
	backups := share(t, backupsQuick, backupsFull)
	compared, differ := 0, 0
	for range backups {
		n := newNode(t, smallMarket)
		n.start()
		key := n.customer("acme", "unlimited")
		seen := &pages{seen: map[string][]byte{}}
		end := make(chan struct{})
		var load sync.WaitGroup
		for i := range 3 {
			load.Go(func() { seen.readUntil(end, n.address(), key, i == 0) })
		}

		time.Sleep(beforeBackup)
		before := n.unitsUsed("acme")
		time.Sleep(afterBackup)
		saved := filepath.Join(t.TempDir(), "saved")
		n.order("POST", "/backup?dir="+saved, nil, nil)
		time.Sleep(afterBackup)
		close(end)
		load.Wait()
		after := n.unitsUsed("acme")
		n.kill()

		c, d := seen.compare(t, restore(t, n, saved), key, before, after)
		compared, differ = compared+c, differ+d
	}

	if compared < backups*len(backedUp)/2 {
		t.Errorf("only %d pages of %d backups could be compared", compared, backups)
	}
	figure(t, "%d backups under load, restored: %d pages compared, %d differ", backups, compared, differ)
}

// restore starts a node on a backup. Its market stands still, so that it stays at the
// generations of the backup.
func restore(t *testing.T, from *node, saved string) *node {
	t.Helper()
	n := newNode(t, smallMarket)
	config := bytes.Replace([]byte(smallMarket), []byte("[sim]"), []byte("[sim]\nfrozen = true"), 1)
	if err := os.WriteFile(n.dir+".toml", config, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := from.run("restore", saved, "--data", n.dir); err != nil {
		t.Fatalf("cannot restore: %v: %s", err, out)
	}
	n.start()
	return n
}

// readUntil reads pages, and remembers them if it watches.
func (p *pages) readUntil(end <-chan struct{}, address, key string, watches bool) {
	conn, err := dial(address, key)
	if err != nil {
		return
	}
	defer conn.close()
	m, r := new(mix), rand.New(rand.NewPCG(1, 1))
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		default:
		}

		path := backedUp[i%len(backedUp)]
		if !watches {
			path = m.page(r)
		}
		answer, err := conn.ask(path)
		if err != nil {
			return
		}
		if watches && answer.status == http.StatusOK {
			p.mu.Lock()
			p.seen[answer.generation+" "+path] = answer.body
			p.mu.Unlock()
		}
	}
}

// compare reads every page of a restored node and stops it.
func (p *pages) compare(t *testing.T, n *node, key string, before, after int64) (compared, differ int) {
	t.Helper()
	if used := n.unitsUsed("acme"); used < before || used > after {
		t.Errorf("%d units are restored; %d were used before the backup, %d after it", used, before, after)
	}
	conn, err := dial(n.address(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()

	for _, path := range backedUp {
		answer, err := conn.ask(path)
		for ; err == nil && answer.status == http.StatusServiceUnavailable; answer, err = conn.ask(path) {
			time.Sleep(pollEvery) // still loading
		}
		if err != nil || answer.status != http.StatusOK {
			t.Fatalf("%s is answered %d %s, %v", path, answer.status, answer.body, err)
		}

		was, ok := p.seen[answer.generation+" "+path]
		if !ok {
			continue
		}
		compared++
		if !bytes.Equal(was, answer.body) {
			differ++
			t.Errorf("%s of generation %s was\n%s\nand is restored as\n%s", path, answer.generation, was,
				answer.body)
		}
	}
	n.stop()
	return compared, differ
}
