package cluster

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/rankings"
	"tidemark/storage"
)

// unconnected is a chain of node a that hears what it is given.
func unconnected() *Chain {
	return &Chain{
		c: &Cluster{cfg: Config{Name: "a"}}, id: 1, wake: make(chan struct{}, 1), pins: make(map[string]pinned),
		hasRoom: func() bool { return true },
	}
}

// beat is what the writer of a chain tells.
func beat(header string, body string) *nats.Msg {
	m := nats.NewMsg("beat.1")
	m.Header.Set(writerStateHeader, header)
	m.Data = []byte(body)
	return m
}

// A beat says where the writer stands, and wakes who waits for cuts. This node is behind
// from the first beat on that tells of a later cut, until it has that one.
func TestBeats(t *testing.T) {
	ch := unconnected()
	f := func(header string, cut uint64, behind bool) {
		t.Helper()
		ch.hear(beat(header, "beat of "+header))
		told := ch.writerState.Load()
		if told == nil || told.Cut != cut || (ch.behindSince.Load() != nil) != behind || string(*ch.told.Load()) != "beat of "+header {
			t.Errorf("after %s: the writer stands at %+v, behind since %v, told %s", header, told, ch.behindSince.Load(), *ch.told.Load())
		}
		select {
		case <-ch.wake:
		default:
			t.Errorf("after %s nobody is woken", header)
		}
	}

	f(`{"Node":"b","Cut":0}`, 0, false)
	f(`{"Node":"b","Cut":4}`, 4, true)
	first := time.Now()
	ch.behindSince.Store(&first)
	f(`{"Node":"b","Cut":6}`, 6, true)
	f(`not JSON`, 6, true)
	if got := ch.behindSince.Load(); got != &first {
		t.Errorf("behind since %v; want the first beat of a later cut", got)
	}
	ch.moveTo(Place{Number: 5})
	if ch.behindSince.Load() != &first || ch.number.Load() != 5 || ch.at.Number != 5 {
		t.Errorf("at cut 5 of 6: behind since %v, at %+v", ch.behindSince.Load(), ch.at)
	}
	ch.moveTo(Place{Number: 6})
	f(`{"Node":"b","Cut":6}`, 6, false)
	ch.hear(beat("{}", ""))
	ch.hear(beat("{}", "")) // does not wait for who is to wake
}

// The status is of the writer while it is heard, and of this node while it leads.
func TestStatusOfWhatWasHeard(t *testing.T) {
	own, theirs := rankings.ChainSnapshot{Cut: 1}, rankings.ChainSnapshot{Cut: 2}
	f := func(want rankings.Membership, change func(*Chain)) {
		t.Helper()
		ch := unconnected()
		ch.number.Store(5)
		ch.newest.Store(&own)
		change(ch)
		got := ch.Status()
		if late := got.LagMillis; late < want.LagMillis || late > want.LagMillis*6 {
			t.Errorf("late by %d ms; want about %d", late, want.LagMillis)
		}
		if got.LagMillis = want.LagMillis; got != want {
			t.Errorf("%+v; want %+v", got, want)
		}
	}
	heard := func(ago time.Duration, cut uint64) func(*Chain) {
		return func(ch *Chain) {
			ch.writerState.Store(&writerState{Node: "b", Cut: cut, Snapshot: theirs, at: time.Now().Add(-ago)})
			ch.behindSince.Store(in(-9 * time.Second))
		}
	}

	f(rankings.Membership{Cut: 5, Snapshot: own}, func(*Chain) {})
	f(rankings.Membership{Cut: 5, Snapshot: theirs, Writer: "b", LagCuts: 3, LagMillis: 9000}, heard(0, 8))
	f(rankings.Membership{Cut: 5, Snapshot: theirs, Writer: "b"}, heard(0, 4))
	f(rankings.Membership{Cut: 5, Snapshot: theirs, LagCuts: 3, LagMillis: 9000}, heard(heardFor, 8))
	f(rankings.Membership{Cut: 5, Snapshot: own, Writer: "a"}, func(ch *Chain) {
		heard(0, 8)(ch)
		ch.lead.until.Store(in(time.Hour))
	})
	f(rankings.Membership{Cut: 5, Snapshot: theirs, Writer: "b", LagCuts: 3}, func(ch *Chain) {
		heard(0, 8)(ch)
		ch.behindSince.Store(nil) // it is not known yet since when
	})
	f(rankings.Membership{Cut: 5}, func(ch *Chain) { ch.newest.Store(nil) })

	c := &Cluster{}
	if m, ok := c.Status(1); ok || m != (rankings.Membership{}) {
		t.Errorf("a chain that is not shared has the status %+v", m)
	}
}

// The newest cut of which another node wants a snapshot is one that this node has.
func TestWantedCuts(t *testing.T) {
	ch := unconnected()
	ch.number.Store(7)
	f := func(text string, want uint64) {
		t.Helper()
		ch.hearWant(&nats.Msg{Data: []byte(text)})
		if got := ch.Wanted(); got != want {
			t.Errorf("after %q a snapshot of cut %d is wanted; want %d", text, got, want)
		}
	}

	f("x", 0)
	f("8", 0)
	f("5", 5)
	f("3", 5)
	f("7", 7)
}

// Generations are pinned elsewhere while a node tells so.
func TestPinnedElsewhere(t *testing.T) {
	ch := unconnected()
	f := func(node, text string, want ...uint64) {
		t.Helper()
		if text != "" {
			ch.hearPinned(&nats.Msg{Data: []byte(text)})
		}
		if got := ch.PinnedElsewhere(); !reflect.DeepEqual(got, want) {
			t.Errorf("after %s of %s %v are pinned; want %v", text, node, got, want)
		}
	}

	f("none", "")
	f("b", `{"Node":"b","Generations":[9,4]}`, 4, 9)
	f("c", `{"Node":"c","Generations":[4,5]}`, 4, 5, 9)
	f("nobody", `[`, 4, 5, 9)
	f("b", `{"Node":"b","Generations":[6]}`, 4, 5, 6)
	old := ch.pins["c"]
	old.at = time.Now().Add(-heardFor)
	ch.pins["c"] = old
	f("c, long ago", "", 6)
	if len(ch.pins) != 1 {
		t.Errorf("%d nodes are kept; want 1", len(ch.pins))
	}
}

// A server's own word says whether it syncs; whatever else answers is named.
func TestAsksServers(t *testing.T) {
	answer, status, asked := "", http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	f := func(text string, name string, syncs bool, problem string) {
		t.Helper()
		answer = text
		got, does, err := askServer(t.Context(), server.URL+"/")
		if got != name || does != syncs || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %q, syncs %t, %v; want %q, %t, %q", text, got, does, err, name, syncs, problem)
		}
		if asked != "/varz" {
			t.Errorf("asked for %s", asked)
		}
	}

	f(`{"server_name":"s1","jetstream":{"config":{"sync_always":true}}}`, "s1", true, "")
	f(`{"server_name":"s1","jetstream":{"config":{}}}`, "s1", false, "")
	f(`{"server_name":"s1"}`, "s1", false, "")
	f(`{}`, "", false, "/varz answers 200 OK and no server's state")
	status = http.StatusNotFound
	f(`not found`, "", false, "/varz answers 404 Not Found and no server's state")

	if _, _, err := askServer(t.Context(), "http://%zz"); err == nil {
		t.Error("an address that is none was asked")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := askServer(ended, server.URL); err == nil {
		t.Error("a server was asked after the end")
	}

	c, silent := new(Cluster), errors.New("no answer")
	has := func(want string, silent error, third string, current bool) {
		t.Helper()
		c.said.Store(&serversSaid{
			synced: map[string]bool{"s1": true, "s2": true}, silent: silent, down: map[string]bool{"s4": true},
		})
		copies := []*jetstream.PeerInfo{{Name: "s1", Current: true}, {Name: "s2"}, {Name: third, Current: current}}
		err := c.checkSynced("CUTS", copies)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}

	has("", nil, "s1", true)
	has("the NATS server s3 has a copy of stream CUTS and was not asked", nil, "s3", true)
	has("the NATS server s3 has a copy of stream CUTS and was not asked", nil, "s3", false)
	has("no answer", silent, "s3", true)
	has("", silent, "s3", false)
	has("", silent, "s4", true)
	has("the NATS server s4 has a copy of stream CUTS and was not asked", nil, "s4", true)
}

// What a writer tells of itself is what the others hear.
func TestStandingIsToldWhole(t *testing.T) {
	text, err := json.Marshal(&writerState{Node: "b", Cut: 3, Snapshot: rankings.ChainSnapshot{Cut: 2, Bytes: 5, MadeAt: 9}})
	ch := unconnected()
	ch.hear(beat(string(text), ""))
	got := ch.writerState.Load()
	if err != nil || got.Node != "b" || got.Cut != 3 || got.Snapshot != (rankings.ChainSnapshot{Cut: 2, Bytes: 5, MadeAt: 9}) ||
		time.Since(got.at) > time.Minute {
		t.Errorf("%v, %s is heard as %+v", err, text, got)
	}
}

// A cut that its writer made wrong is refused although its hash is right.
func TestCutsMadeWrong(t *testing.T) {
	f := func(want string, change func(h *header, body []byte) []byte) {
		t.Helper()
		h := header{parts: 1, format: storage.Format, number: 4, before: Hash{3}}
		body := change(&h, encoder.EncodeAll([]byte("\x00\x00\x00\x02nobatch"), nil))
		h.hash = h.hashOf(body)
		a := assembly{after: Place{Number: 3, Hash: Hash{3}}}
		cut, err := a.add(9, append(h.append(nil), body...))
		switch {
		case want == "" && (err != nil || string(cut.Note) != "no" || string(cut.Batch) != "batch" ||
			cut.Place != (Place{Sequence: 9, Number: 4, Hash: h.hash})):
			t.Errorf("%+v, %v", cut, err)
		case want != "" && (!errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v, %v; want %q", cut, err, want)
		}
	}
	plain := func(text string) func(*header, []byte) []byte {
		return func(*header, []byte) []byte { return encoder.EncodeAll([]byte(text), nil) }
	}
	same := func(change func(*header)) func(*header, []byte) []byte {
		return func(h *header, body []byte) []byte { change(h); return body }
	}

	f("", same(func(*header) {}))
	f("", same(func(h *header) { h.format = storage.OldestFormat }))
	f("is of format", same(func(h *header) { h.format = storage.OldestFormat - 1 }))
	f("give this node the newer program", same(func(h *header) { h.format = storage.Format + 1 }))
	f("cut 4: part 1 of 1", same(func(h *header) { h.part = 1 }))
	f("cut 4: part 0 of 0", same(func(h *header) { h.parts = 0 }))
	f(fmt.Sprintf("cut 4: part 0 of %d", maxParts+1), same(func(h *header) { h.parts = maxParts + 1 }))
	f("cut 5 follows cut 3", same(func(h *header) { h.number = 5 }))
	f("cut 4 follows another cut 3", same(func(h *header) { h.before = Hash{4} }))
	f("cut 4 cannot be unpacked", func(*header, []byte) []byte { return []byte("no zstd") })
	f("cut 4 has 3 bytes; its note is longer", plain("\x00\x00\x00"))
	f("cut 4 has 5 bytes; its note is longer", plain("\x00\x00\x00\x02n"))
}

// A message says which part of how many it is, and all of its head comes as it was.
func TestHeads(t *testing.T) {
	f := func(part, parts uint16, ok bool) {
		t.Helper()
		h := header{part: part, parts: parts, format: 3, number: 1 << 40, before: Hash{1}, hash: Hash{31: 2}}
		message := h.append([]byte{})
		got, body, err := decodeHeader(append(message, "body"...))
		if ok && (err != nil || got != h || string(body) != "body") || !ok && !errors.Is(err, ErrBroken) {
			t.Errorf("part %d of %d: %+v, %q, %v", part, parts, got, body, err)
		}
		if got, body, err := decodeHeader(message); ok && (err != nil || got != h || len(body) > 0) {
			t.Errorf("part %d of %d, without a body: %+v, %q, %v", part, parts, got, body, err)
		}
		if _, _, err := decodeHeader(message[:len(message)-1]); !errors.Is(err, ErrBroken) {
			t.Errorf("a head without its end: %v", err)
		}
	}

	f(0, 1, true)
	f(1, 1, false)
	f(0, 0, false)
	f(0, maxParts, true)
	f(maxParts-1, maxParts, true)
	f(maxParts, maxParts, false)
	f(0, maxParts+1, false)
}

// What an object says of its snapshot is read whole, or refused by its name.
func TestWhatObjectsSay(t *testing.T) {
	at := Place{Sequence: 5, Number: 4, Hash: Hash{3}}
	f := func(wrong, value string) {
		t.Helper()
		info := &jetstream.ObjectInfo{Size: 90, NUID: "n", Chunks: 2, Digest: "d"}
		info.Name, info.Metadata = "1.x", map[string]string{
			metaNode: "b", metaPlace: hex.EncodeToString(at.Encode()), metaFormat: "7", metaUnpacked: "900",
		}
		info.Metadata[wrong] = value
		s, err := decodeInfo(info)
		want := &Snapshot{
			Place: at, Format: 7, Bytes: 90, Unpacked: 900, Node: "b", SHA256: "d", nuid: "n", name: "1.x", chunks: 2,
		}
		if wrong == "" && (err != nil || !reflect.DeepEqual(s, want)) {
			t.Errorf("%+v, %v; want %+v", s, err, want)
		}
		if wrong != "" && (!errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "the object 1.x: ")) {
			t.Errorf("with %s = %q: %v", wrong, value, err)
		}
	}

	f("", "")
	f(metaPlace, "zz")
	f(metaPlace, "00")
	f(metaFormat, "x")
	f(metaUnpacked, "-1")
}

// watch is a watch of all keys that has these entries at hand.
type watch struct {
	jetstream.KeyWatcher
	updates chan jetstream.KeyValueEntry
}

func (w watch) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// All keys are read once the watch says so, and not before.
func TestReadAll(t *testing.T) {
	one := struct{ jetstream.KeyValueEntry }{}
	w := watch{updates: make(chan jetstream.KeyValueEntry, 3)}
	f := func(what string, want error, visits int, visited error) {
		t.Helper()
		n := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if want == context.Canceled {
			cancel()
		}
		err := ReadAll(ctx, w, func(jetstream.KeyValueEntry) error { n++; return visited })
		if err != want || n != visits {
			t.Errorf("%s: %v after %d entries; want %v after %d", what, err, n, want, visits)
		}
	}

	w.updates <- one
	w.updates <- one
	w.updates <- nil
	f("two entries", nil, 2, nil)
	f("the end", context.Canceled, 0, nil)
	w.updates <- one
	f("an entry that is refused", ErrOutdated, 1, ErrOutdated)
	w.updates <- one
	close(w.updates)
	f("a watch that ends", errWatchEnded, 1, nil)
}

// Only the leader of a stream tells who leads it. Servers that are not in a cluster have none.
func TestHasLeader(t *testing.T) {
	f := func(of *jetstream.ClusterInfo, want bool) {
		t.Helper()
		if got := hasLeader(&jetstream.StreamInfo{Cluster: of}); got != want {
			t.Errorf("%+v has a leader: %t; want %t", of, got, want)
		}
	}

	f(nil, true)
	f(&jetstream.ClusterInfo{Leader: "s1"}, true)
	f(&jetstream.ClusterInfo{Name: "c"}, false)
}
