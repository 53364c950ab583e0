package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/storage/registry"
)

// quietPebble is a log of Pebble's that only tells what is fatal.
type quietPebble struct{ t *testing.T }

func (quietPebble) Infof(string, ...any)  {}
func (quietPebble) Errorf(string, ...any) {}

func (q quietPebble) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

// Market data of the format before this one is refused as it is, with the way
// out; and the way out keeps accounts, keys and usage.
func TestFormatBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes")
	}
	v := newVictim(t, 1_000_000)
	v.start()
	key := v.customer("acme", "growth")
	if status, _, err := request(v.url+"/v1/pools?limit=1", key); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	v.stop()

	market := filepath.Join(v.dir, marketDir)
	db, err := pebble.Open(market, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{t}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte("\x00format"), []byte("2"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the first start changes nothing
		out, err := exec.Command("tidemark", "serve", "--data", v.dir,
			"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0").CombinedOutput()
		for _, want := range []string{
			`unknown format "2"; this program reads 3 to 11`, "start the build that wrote it, or move " + market + " away",
			"the chains are indexed anew, and accounts, keys and usage stay",
		} {
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v, %s; want %q", err, out, want)
			}
		}
	}

	if err := os.Rename(market, v.dir+".old"); err != nil {
		t.Fatal(err)
	}
	v.start()
	var usage registry.UsageView
	v.ask("GET", "/usage/acme", nil, &usage)
	if usage.UnitsUsed != 2 {
		t.Errorf("%d units are used; want the 2 from before", usage.UnitsUsed)
	}
	if status, _, err := request(v.url+"/v1/pools?limit=1", key); err != nil || status != 200 {
		t.Errorf("the key is answered %d, %v", status, err)
	}
}
