package rpc

import (
	"math"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// beyond is a swap to a tick that no pool has.
func beyond() object {
	return rawLog(manager, []market.Hash{managerTopics[2], {1}, padded(market.Address{9})},
		number(-5), number(5), sqrtOne(), number(77), number(900_000), number(3000))
}

// A log that the contracts cannot have written does not stop a chain whose receipts prove it,
// whether its block is read alone or in a range: the ledger gets an event of the pool that it
// refuses. Without receipts it is not believed.
func TestImpossibleLogOnTheChain(t *testing.T) {
	f := func(behind int, receiptless, passes bool) {
		t.Helper()
		c := busy(100)
		at := c.mine(beyond()).number
		for range behind {
			c.mine(swapped(4))
		}
		n := newNode(t, c)
		n.receiptless = receiptless
		l := follow(t, nil, n)
		for range 60 {
			_ = l.next()
		}
		if end := l.anchors()[0].Number; passes != (end == c.head().number) || !passes && end >= at {
			t.Fatalf("the log is %d blocks back: read up to block %d of %d; %v", behind, end, c.head().number, l.last)
		}
		if !passes {
			return
		}

		l.same(c)
		for _, s := range l.spans {
			for _, b := range s.Blocks {
				if e, ok := b.Logs[0].Event.(market.Swap); b.Number == at && (!ok || e.Pool != market.PoolID{1} || e.Fee <= maxFee) {
					t.Errorf("the ledger gets %+v", b.Logs[0].Event)
				}
			}
		}
	}

	f(3, false, true)
	f(700, false, true)
	f(3, true, false)
}

// Of a log that the contracts cannot have written the ledger gets what can be read of it and
// a field that it refuses.
func TestImpossibleEvents(t *testing.T) {
	f := func(l object, want string) {
		t.Helper()
		w := asWire[wireLog](t, l)
		_, err := decoder().decode(market.Address(w.Address), w.Topics, w.Data)
		if _, ok := err.(impossibleError); !ok {
			t.Errorf("%v: the error is %v", l, err)
		}
		e, ok := impossibleEvent(w.Topics, w.Data)
		got := ""
		switch e := e.(type) {
		case market.Initialize:
			if got = "pool of " + e.Currency1.String()[:4]; e.Fee != math.MaxUint32 {
				t.Errorf("%+v is not refused", e)
			}
		case market.ModifyLiquidity:
			if got = "liquidity of " + e.Sender.String()[:4]; e.TickLower != e.TickUpper {
				t.Errorf("%+v is not refused", e)
			}
		case market.Swap:
			got = "swap"
		case market.ProtocolFeeUpdated:
			got = "fee"
		}
		if got != want || ok != (want != "") {
			t.Errorf("%v: %+v, %t; want %q", l, e, ok, want)
		}
	}
	of := func(topic int, topics int, data ...market.Hash) object {
		return rawLog(manager, append([]market.Hash{managerTopics[topic]}, make([]market.Hash, topics)...), data...)
	}
	pool := created(token)
	pool["data"] = strings.Replace(pool["data"].(string), number(60).String()[2:], number(0).String()[2:], 1)

	f(pool, "pool of 0x70")
	f(of(0, 1), "pool of 0x00")
	f(rawLog(manager, []market.Hash{managerTopics[1], {1}, padded(positions)}, number(7), number(-7), number(1), number(1)),
		"liquidity of 0xbb")
	f(of(1, 2, number(5)), "liquidity of 0x00")
	f(beyond(), "swap")
	f(of(3, 2), "fee")
	f(of(4, 1, number(1001)), "fee")
	f(of(2, 0), "")
	f(rawLog(positions, []market.Hash{positionTopics[0], {}, padded(token), {1}}), "")
}
