package rpc

import (
	"testing"

	"tidemark/rankings/market"
)

// manyReceipts makes receipts of several types with zero to three logs.
func manyReceipts(n int) []wireReceipt {
	list := make([]wireReceipt, n)
	for i := range list {
		kind, status, gas := quantity(i%3), quantity(i%2), quantity(21000*(i+1))
		r := wireReceipt{Type: &kind, Status: &status, CumulativeGas: &gas, Logs: []wireLog{}}
		for k := range i % 4 {
			l := wireLog{Address: address{byte(i), byte(k)}, Data: make(hexBytes, i*7%100)}
			for t := range k + 1 {
				l.Topics = append(l.Topics, word{byte(t), byte(i)})
			}
			for d := range l.Data {
				l.Data[d] = byte(d)
			}
			r.Logs = append(r.Logs, l)
		}

		var bits [bloomLen]byte
		addLogs(&bits, r.Logs)
		bloom := hexBytes(bits[:])
		r.Bloom = &bloom
		list[i] = r
	}
	return list
}

// The roots are those that go-ethereum's types.DeriveSha gives for the same
// receipts.
func TestReceiptsRoot(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		got, err := receiptsRoot(manyReceipts(n))
		if err != nil || market.Hash(got).String() != want {
			t.Errorf("%d receipts: %s, %v; want %s", n, market.Hash(got), err, want)
		}
	}

	f(0, "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
	f(1, "0x642cd2bcdba228efb3996bf53981250d3608289522b80754c4e3c085c93c806f")
	f(2, "0xefa475a081088d0ec6c359d6adfbec3d4e84af331b4e00f579d296646a636b46")
	f(16, "0x21d69d94a12e0927d466677d928dfadd822fa430966025eb0fa1999695a09161")
	f(17, "0xd638e906618af275451fca701e0e7ecbe94d2584ea7abf60869a3c624dee7815")
	f(127, "0xdb514b75c0c55981221323c5a314f4e3ca1bc12ac7c1812dc1be4a724855b90d")
	f(128, "0x7c0370f7d6e6c1ba7a74d9a30d84a8641889453851e3d5e36ee3088bf5396c62")
	f(129, "0x0c9b9e014ea64398654b6dae5f4eaa49a8ed426d08c2711f5ac6c2a8770af22a")
	f(300, "0xfeb0b30e5a0acf469ce36f54a88fba57d737cb5ff7b26a7bbc710083a089740f")
}

func TestReceiptsRootRefuses(t *testing.T) {
	for i, spoil := range []func(*wireReceipt){
		func(r *wireReceipt) { r.Status = nil }, func(r *wireReceipt) { r.Bloom = nil },
		func(r *wireReceipt) { r.CumulativeGas = nil }, func(r *wireReceipt) { r.Logs = nil },
	} {
		list := manyReceipts(3)
		spoil(&list[1])
		if _, err := receiptsRoot(list); err == nil {
			t.Errorf("%d: a receipt that lacks a field has a root", i)
		}
	}
}

// A node of a trie stands in its parent itself while it is shorter than its hash.
func TestNodesInTheirParents(t *testing.T) {
	f := func(length int, itself bool) {
		t.Helper()
		node := make([]byte, length)
		node[0] = 7
		got := appendRef([]byte{1, 2}, node)
		hash := keccak(node)
		want := string(node)
		if !itself {
			want = "\xa0" + string(hash[:])
		}
		if string(got) != "\x01\x02"+want {
			t.Errorf("a node of %d bytes stands as %x; want %x after 0102", length, got, want)
		}
	}

	f(1, true)
	f(31, true)
	f(32, false)
	f(33, false)
}
