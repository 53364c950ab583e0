package rpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tidemark/actors/feed/endpoint"
)

// benchmarkReading reads an answer as a request does, again and again.
func benchmarkReading(b *testing.B, answer any, read func(*jsontext.Decoder) error) {
	b.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		b.Fatal(err)
	}

	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dec := jsontext.NewDecoder(struct{ *bytes.Reader }{bytes.NewReader(text)},
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err := read(dec); err != nil {
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
	benchmarkReading(b, ours[:1000], func(dec *jsontext.Decoder) error {
		r := &logReader{feed: f, assembly: assembly{to: 0xffff}}
		if err := r.ReadJSON(dec); err != nil || r.wrong != nil {
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
	receipt := newChain(3).mine(logs...).receipts()[0]
	all := make([]object, 100)
	for i := range all {
		all[i] = receipt
	}

	benchmarkReading(b, all, func(dec *jsontext.Decoder) error {
		return endpoint.ReadEach(dec, func() error {
			var r gasReader
			err := r.ReadJSON(dec)
			if r.wrong != nil || !r.found {
				b.Fatal(r.wrong)
			}
			return err
		})
	})
}
