package rpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"tidemark/actors/feed/endpoint"
)

// benchmarkReading reads an answer as a request does, again and again.
func benchmarkReading(b *testing.B, answer any, read func(*endpoint.Reader) error) {
	b.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		b.Fatal(err)
	}

	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := read(endpoint.NewReader(bytes.NewReader(text))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLogReader reads an answer of 1,000 logs.
func BenchmarkLogReader(b *testing.B) {
	n := &fakeNode{fakeChain: busy(4000)}
	var ours []object
	for _, l := range n.getLogs(json.RawMessage(`{"fromBlock":"0x0","toBlock":"0xffff"}`)).([]object) {
		if l["topics"].([]string)[0][:4] != "0x8c" {
			ours = append(ours, l)
		}
	}

	f := &Feed{cfg: Config{PoolManager: manager, PositionManager: positions}}
	benchmarkReading(b, ours[:1000], func(from *endpoint.Reader) error {
		r := &logReader{feed: f, assembly: assembly{to: 0xffff}}
		if err := r.ReadJSON(from); err != nil || r.wrong != nil {
			b.Fatal(err, r.wrong)
		}
		return nil
	})
}

// BenchmarkGasReader reads a hundred receipts with six logs each.
func BenchmarkGasReader(b *testing.B) {
	var logs []object
	for i := range 3 {
		logs = append(logs, minted(int64(i))...)
	}
	for i := range logs[1:] {
		logs[1+i]["same"] = true
	}
	receipt := newChain(3).mine(logs...).receipts[0]
	all := make([]object, 100)
	for i := range all {
		all[i] = receipt
	}

	benchmarkReading(b, all, func(from *endpoint.Reader) error {
		return from.Elements(func() error {
			var r gasReader
			err := r.ReadJSON(from)
			if r.wrong != nil || !r.found {
				b.Fatal(r.wrong)
			}
			return err
		})
	})
}
