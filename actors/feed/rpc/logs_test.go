package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// readAnswer reads an answer as a request does.
func readAnswer(text string, from, to uint64) (*logReader, error) {
	f := &Feed{cfg: Config{PoolManager: manager, PositionManager: positions}}
	r := &logReader{feed: f, assembly: assembly{from: from, to: to}}
	return r, r.ReadJSON(endpoint.NewReader(strings.NewReader(text)))
}

// Logs that are read as they come make the blocks that they make when they are held.
func TestLogReader(t *testing.T) {
	c := busy(200)
	n := &fakeNode{fakeChain: c}
	all := n.getLogs(json.RawMessage(`{"fromBlock":"0x0","toBlock":"0xffff"}`)).([]object)
	var ours []object
	for _, l := range all {
		if l["topics"].([]string)[0][:4] != "0x8c" {
			ours = append(ours, l)
		}
	}

	text, _ := json.Marshal(ours)
	var held []wireLog
	if err := json.Unmarshal(text, &held); err != nil {
		t.Fatal(err)
	}
	r, err := readAnswer(string(text), 0, 199)
	want, wantErr := r.feed.assembleBlocks(held, 0, 199, false)
	if err != nil || r.wrong != nil || wantErr != nil {
		t.Fatal(err, r.wrong, wantErr)
	}
	if !reflect.DeepEqual(r.blocks, want) || r.logs != len(held) {
		t.Errorf("%d logs in %d blocks; want %d in %d", r.logs, len(r.blocks), len(held), len(want))
	}
}

func TestLogReaderRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r, err := readAnswer(text, 0, 9)
		if got := fmt.Sprint(r.none, r.wrong, err); !strings.Contains(got, want) || r.blocks != nil {
			t.Errorf("%s: %s, %d blocks; want %s", text, got, len(r.blocks), want)
		}
	}

	f(`null`, "true <nil> <nil>")
	f(`[]`, "false <nil> <nil>")
	f(`"full"`, "want an array of logs")
	f(`[7]`, "want an object")
	f(`[{"topics":7,"address":"0x12"}]`, "the topics of a log")
	f(`[{"address":"0x12"}]`, "has 2 hex digits; want 40")
	f(`[{"topics":["0x12"]}]`, "has 2 hex digits; want 64")
	f(`[{"topics":null,"blockNumber":null}]`, "its block, transaction or index is missing")
	f(`[{"blockNumber":"0x1"`, "EOF")
	f(`[{"topics":["0x1`, "EOF")
	f(`[`+strings.Repeat(`{"removed":true},`, 3)+`{}]`, "its block, transaction or index is missing")

	// The first that is wrong is told, and nothing of the answer is kept.
	f(`[{"address":"0x12","topics":7}]`, "has 2 hex digits; want 40")
	f(`[{"topics":["0x12"],"address":"0x12"}]`, "has 2 hex digits; want 64")
	f(`[{"topics":["0x12","0x1"]}]`, "0x12")
	f(`[{"topics":7,"data":"zz"}]`, "the topics of a log")
	f(`[{"data":"zz"},7]`, "a log's field: ")
	c := newChain(1)
	c.mine(swapped(1), swapped(2), swapped(3))
	text := func(change func(logs []object)) string {
		var logs []object
		for _, l := range c.blocks[1].logs {
			logs = append(logs, maps.Clone(l))
		}
		change(logs)
		b, _ := json.Marshal(logs)
		return string(b)
	}
	f(text(func(logs []object) { logs[2]["removed"] = true }), "log 2 (block 1, index 6): it is marked as removed")
	f(text(func(logs []object) { logs[1]["data"] = "zz" }), "a log's field: ")
	f(text(func(logs []object) {
		for range 4 {
			logs[1]["topics"] = append(logs[1]["topics"].([]string), market.Hash{}.String())
		}
	}), "event has 5 topics and 192 bytes of data; want 3 and 192")
	f(text(func(logs []object) { logs[1]["blockHash"] = nil }), "log 1 (block 1, index 3): its block, transaction or index is missing")
}

// An answer as long as those that nodes cut is counted, and nothing of it is kept, except of a
// single block. A reader that is used again begins anew.
func TestCutLogs(t *testing.T) {
	c := newChain(1)
	c.mine(swapped(1))
	of := func(count int) string {
		l := maps.Clone(c.blocks[1].logs[0])
		var list []string
		for i := range count {
			l["logIndex"] = hex(uint64(i))
			b, _ := json.Marshal(l)
			list = append(list, string(b))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	f := func(r *logReader, count, blocks int, cut bool) {
		t.Helper()
		err := r.ReadJSON(endpoint.NewReader(strings.NewReader(of(count))))
		if err != nil || r.wrong != nil || r.none || r.logs != count || len(r.blocks) != blocks || r.isCut() != cut {
			t.Errorf("%d logs: %v, %v, %d are counted in %d blocks, cut %t; want %d blocks, %t", count, err, r.wrong, r.logs,
				len(r.blocks), r.isCut(), blocks, cut)
		}
	}

	r, _ := readAnswer(`[{"removed":true}]`, 0, 9)
	f(r, maxLogs+2, 0, true)
	f(r, maxLogs, 0, true)
	f(r, maxLogs-1, 1, false)
	r, _ = readAnswer(`null`, 1, 1)
	f(r, maxLogs+2, 1, false)
}

// A log is read as encoding/json reads it.
func FuzzLogReader(f *testing.F) {
	f.Add(`{"address":"0xaa00000000000000000000000000000000000000","topics":[],"data":"0x00"}`)
	f.Add(`{"blockNumber":"0x10","logIndex":"0x0","removed":true,"topics":null,"x":[{}]}`)
	f.Add(`{"blockTimestamp":"0xffffffffffffffff","transactionIndex":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		var want wireLog
		wantErr := json.Unmarshal([]byte(text), &want)
		if strings.ContainsAny(text, `ABCDEFGHIJKLMNOPQRSTUVWXYZ\`) || strings.Contains(text, "null") {
			want = wireLog{} // names that encoding/json takes in any case, and null in place of a value
		}

		var b logBuffer
		wrong, err := b.read(endpoint.NewReader(strings.NewReader(text)))
		if err != nil || wrong != nil || wantErr != nil || reflect.DeepEqual(want, wireLog{}) {
			return
		}
		if b.Address != want.Address || string(b.Data) != string(want.Data) ||
			len(b.Topics) != min(len(want.Topics), maxTopics+1) || b.Removed != want.Removed {
			t.Errorf("%s: read as %+v; want %+v", text, b.wireLog, want)
		}
	})
}

// Logs are of the blocks that were asked for, in their order.
func TestAssembledBlocks(t *testing.T) {
	c := newChain(5)
	c.mine(swapped(1), swapped(2))
	c.mine(swapped(3))
	logs := asWire[[]wireLog](t, append(append([]object{}, c.blocks[5].logs...), c.blocks[6].logs...))
	f := func(from, to uint64, want string, places ...int) {
		t.Helper()
		var list []wireLog
		for _, i := range places {
			list = append(list, logs[i])
		}
		blocks, err := decoder().assembleBlocks(list, from, to, false)
		fails(t, fmt.Sprint(places, " of ", from, " to ", to), err, want)
		if want == "" && (len(blocks) != 2 || len(blocks[0].Logs) != 2 || blocks[1].Number != 6 || !blocks[1].dated) {
			t.Errorf("%v are the blocks %+v", places, blocks)
		}
	}

	f(5, 6, "", 0, 1, 2)
	f(0, 100, "", 0, 1, 2)
	f(6, 6, "log 0 (block 5, index 0): only blocks 6 to 6 were asked for", 0, 1, 2)
	f(5, 5, "log 2 (block 6, index 0): only blocks 5 to 5 were asked for", 0, 1, 2)
	f(5, 6, "logs of block 5 after those of block 6", 2, 0, 1)
	f(5, 6, "it follows log 3", 1, 0, 2)
	f(5, 6, "it follows log 0", 0, 0, 2)

	for i, lack := range []func(l *wireLog){
		func(l *wireLog) { l.Block = nil }, func(l *wireLog) { l.Hash = nil }, func(l *wireLog) { l.TxHash = nil },
		func(l *wireLog) { l.TxIndex = nil }, func(l *wireLog) { l.LogIndex = nil },
	} {
		l := logs[2]
		lack(&l)
		_, err := decoder().assembleBlocks([]wireLog{logs[0], l}, 5, 6, false)
		fails(t, fmt.Sprint("a log that lacks part ", i, " of its place"), err, "log 1 (block ")
		fails(t, fmt.Sprint("a log that lacks part ", i, " of its place"), err, "its block, transaction or index is missing")
	}
}
