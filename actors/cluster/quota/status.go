package quota

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/storage/accounts"
)

// Usage is what all nodes have of a month of an account.
type Usage struct {
	Account uint64
	Limit   int64 // 0: none
	Nodes   map[string]NodeUsage
}

// NodeUsage is what one node has of it.
type NodeUsage struct {
	Billed, Leased int64
	Lost           int64 // of the lease: of processes that were killed
}

// statusTimeout bounds the reading of all accounts.
const statusTimeout = 5 * time.Second

// Usages returns a month of all accounts that were used, as the nodes have reported it.
func (l *Ledger) Usages(ctx context.Context, m accounts.Month) (list []Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	w, err := l.bucket.WatchAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the usage of all nodes: %w", err)
	}
	defer w.Stop()

	err = cluster.ReadAll(ctx, w, func(e jetstream.KeyValueEntry) error {
		id, month, _ := strings.Cut(e.Key(), ".")
		account, err := strconv.ParseUint(id, 10, 64)
		if err != nil || month != m.String() {
			return nil
		}
		r, err := decodeRecord(e.Value())
		if err == nil {
			list = append(list, usageOf(account, r))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the usage of all nodes: %w", err)
	}
	return list, nil
}

func usageOf(account uint64, r *record) Usage {
	u := Usage{Account: account, Limit: r.Limit, Nodes: map[string]NodeUsage{}}
	for name, p := range r.Nodes {
		u.Nodes[name] = NodeUsage{p.Billed, p.Lease, p.Lost}
	}
	return u
}

// openUnits returns the units that are leased to this node and not spent.
func (l *Ledger) openUnits() (units int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, both := range l.sessions {
		for _, s := range both {
			if s != nil {
				units += max(s.left(), 0)
			}
		}
	}
	return units
}
