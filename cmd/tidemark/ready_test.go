package main

import (
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// A node that is not ready says what its chain does, and that the disk is in its way. What
// the disk is like does not matter once every chain is published or offline.
func TestReadyReason(t *testing.T) {
	disk := storage.Disk{Status: storage.DiskOK, FreeBytes: 7}
	r := readiness{
		board: new(rankings.Board), chains: []market.ChainID{1, 5},
		health: func(market.ChainID) (status, reason string) { return "syncing", "catching up with the chain head" },
		disk:   func() storage.Disk { return disk },
	}
	f := func(want string) {
		t.Helper()
		got := ""
		if err := r.check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("with %s: %q; want %q", disk.Status, got, want)
		}
	}

	f("chain 1: catching up with the chain head")
	disk.Status = storage.DiskSlow
	f("chain 1: catching up with the chain head")
	disk.Status = storage.DiskReadOnly
	f("chain 1: catching up with the chain head; the disk has 7 bytes free, and nothing is written before it has 671088640")
	disk.Status = storage.DiskFull
	r.board.SetStatus(1, rankings.ChainStatus{Offline: true})
	f("chain 5: catching up with the chain head; the disk has 7 bytes free, and nothing is written before it has 671088640")
	r.board.SetStatus(5, rankings.ChainStatus{Offline: true})
	f("")
}
