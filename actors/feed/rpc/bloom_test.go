package rpc

import (
	"testing"

	"tidemark/rankings/market"
)

// A filter may hold one of our events if it has the bits of a contract and of one of that
// contract's topics; whoever has no filter excludes nothing.
func TestBlooms(t *testing.T) {
	manager, positions := market.Address{0xaa, 1}, market.Address{0xbb, 2}
	b := bloomsOf(manager, positions)
	log := func(address market.Address, topics ...market.Hash) wireLog {
		l := wireLog{Address: [20]byte(address)}
		for _, topic := range topics {
			l.Topics = append(l.Topics, word(topic))
		}
		return l
	}
	filter := func(logs ...wireLog) *hexBytes {
		var bloom [bloomLen]byte
		addLogs(&bloom, logs)
		text := hexBytes(bloom[:])
		return &text
	}

	f := func(what string, bloom *hexBytes, may bool) {
		t.Helper()
		if got := b.mayHold(bloom); got != may {
			t.Errorf("%s may hold an event: %t; want %t", what, got, may)
		}
	}
	short := make(hexBytes, bloomLen-1)
	f("no filter", nil, true)
	f("a short filter", &short, true)
	f("an empty filter", filter(), false)
	for _, topic := range managerTopics {
		f("an event of the manager", filter(log(manager, topic, market.Hash{9})), true)
		f("one of another contract", filter(log(market.Address{7}, topic)), false)
	}
	for _, topic := range positionTopics {
		f("an event of the position manager", filter(log(positions, topic)), true)
	}
	f("another event of the manager", filter(log(manager, market.Hash{9})), false)
	f("no topic", filter(log(manager)), false)

	g := func(what string, bloom *hexBytes, want bool, logs ...wireLog) {
		t.Helper()
		if got := b.explained(bloom, logs); got != want {
			t.Errorf("%s is explained: %t; want %t", what, got, want)
		}
	}
	one, two := log(manager, managerTopics[0]), log(positions, positionTopics[0])
	g("no filter", nil, false, one)
	g("a short filter", &short, false, one)
	g("an empty filter", filter(), true)
	g("its one log", filter(one), true, one)
	g("its logs in another order", filter(one, two), true, two, one)
	g("a log that is missing", filter(one, two), false, one)
	g("the other that is missing", filter(one, two), false, two)
	g("a log of another topic", filter(one), false, log(manager, managerTopics[1]))
	g("a log of another contract", filter(one), false, log(positions, managerTopics[0]))
	g("a log without topics", filter(one), false, log(manager))
}
