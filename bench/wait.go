package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/bench/process"
	tidemark "tidemark/edge/client/go"
	"tidemark/storage"
)

// ready reports whether every chain serves and has caught up.
func ready(h *tidemark.Health) bool {
	return len(h.Chains) > 0 && !slices.ContainsFunc(h.Chains, unready)
}

func unready(c tidemark.HealthChain) bool { return !process.Serves(&c) }

// generations are the newest ones of the chains that have any.
func generations(h *tidemark.Health) map[int64]int64 {
	newest := map[int64]int64{}
	for _, c := range h.Chains {
		if c.Generation != nil {
			newest[c.ChainID] = *c.Generation
		}
	}
	return newest
}

// past returns what reports whether every chain has published past what was kept of it.
func past(kept map[int64]int64) func(*tidemark.Health) bool {
	return func(h *tidemark.Health) bool {
		newest := generations(h)
		for chain, was := range kept {
			if newest[chain] <= was {
				return false
			}
		}
		return true
	}
}

// waitUntil asks a node for its health until enough says that it has seen enough.
func waitUntil(ctx context.Context, n *process.Node, enough func(*tidemark.Health) bool) error {
	return await(ctx, n, process.PollEvery, func() error {
		h, err := n.Health()
		if err == nil && !enough(&h) {
			err = errors.New("the node is not as far yet")
		}
		return err
	})
}

// await tries until a node does what it should, or its health says that it never will.
func await(ctx context.Context, n *process.Node, every time.Duration, try func() error) error {
	var never error
	seen := progressSeen{}

	err := n.Await(ctx, every, func() error {
		err := try()
		if err == nil {
			return nil
		}
		h, unknown := n.Health()
		if unknown != nil {
			return errors.Join(err, unknown)
		}

		if never = seen.check(&h, time.Now()); never != nil {
			return nil // there is nothing to wait for
		}
		text, _ := json.Marshal(&h) // of strings and numbers alone
		return fmt.Errorf("%w: %s", err, text)
	})
	return cmp.Or(never, err)
}

// stallTime is how long a chain may stay at a block before it has caught up. A feed
// that fails is asked many times meanwhile, and no refresh takes as long.
const stallTime = time.Minute

// progressSeen is where each chain was seen last, and since when.
type progressSeen map[int64]chainSeen

type chainSeen struct {
	at    string
	since time.Time
}

// check returns why a node will not catch up: it takes no writes, or a chain stands still.
func (p progressSeen) check(h *tidemark.Health, now time.Time) error {
	if !storage.DiskStatus(h.Disk.Status).HasRoom() {
		return fmt.Errorf("the node stopped taking writes: %d MB are free on its disk, it needs %d",
			h.Disk.FreeBytes>>20, storage.WritableBytes()>>20)
	}

	for _, c := range h.Chains {
		at, reason := "no block", "no reason is given"
		if c.LastIndexedBlock != nil {
			at = fmt.Sprintf("block %d", *c.LastIndexedBlock)
		}
		if c.Reason != nil {
			reason = *c.Reason
		}

		if was := p[c.ChainID]; was.at != at || !unready(c) {
			p[c.ChainID] = chainSeen{at, now}
		} else if now.Sub(was.since) >= stallTime {
			return fmt.Errorf("chain %d has stayed at %s for %s: %s", c.ChainID, at, stallTime, reason)
		}
	}
	return nil
}
