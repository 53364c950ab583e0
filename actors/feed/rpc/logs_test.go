package rpc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/actors/feed/endpoint"
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
	want, wantErr := r.feed.assembleBlocks(held, 0, 199)
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
	f(`[{"topics":null,"blockNumber":null}]`, "it lacks its place")
	f(`[{"blockNumber":"0x1"`, "EOF")
	f(`[`+strings.Repeat(`{"removed":true},`, 3)+`{}]`, "it lacks its place")
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
		blocks, err := decoder().assembleBlocks(list, from, to)
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
}
