package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster/natstest"
	"tidemark/rankings/market"
)

// What fails while servers start is tried again; what they refuse is not.
func TestWhileStarting(t *testing.T) {
	s := newServers(t, 1, false)
	c := s.join("a")
	f := func(what string, answers []error, tries int, want string, unreached bool) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		err := c.whileStarting(ctx, "do it", func(context.Context) error {
			if n++; n == tries && unreached { // the time is over
				cancel()
			}
			return answers[min(n, len(answers))-1]
		})
		var u *Unreached
		said := err != nil && err.Error() == want
		if n != tries || err == nil && want != "" || err != nil && !said || errors.As(err, &u) != unreached {
			t.Errorf("%s: %v after %d tries; want %q after %d", what, err, n, want, tries)
		}
	}
	starting := &jetstream.APIError{Code: 500, Description: "no leader"}
	refused := &jetstream.APIError{Code: 499, Description: "no"}

	f("it works", []error{nil}, 1, "", false)
	f("at last", []error{starting, errors.New("late"), nil}, 3, "", false)
	f("refused", []error{refused}, 1, "cannot do it: "+refused.Error(), false)
	f("refused later", []error{starting, refused}, 2, "cannot do it: "+refused.Error(), false)
	f("never", []error{starting}, 3, "cannot do it: "+starting.Error(), true)
	c.nc.Close()
	f("the connection is closed", []error{io.EOF}, 1, "cannot do it: EOF", false)
}

// All nodes of a cluster have what the first one named.
func TestAgree(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.join("a"), s.join("b")
	f := func(c *Cluster, name, value, want string) {
		t.Helper()
		if got, err := c.Agree(t.Context(), name, value); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}

	f(a, "the chain", "1", "1")
	f(b, "the chain", "2", "1")
	f(a, "the chain", "3", "1")
	f(b, "another", "2", "2")
	f(a, "another", "", "2")
}

// A place that was found is of no other data.
func TestFoundPlaces(t *testing.T) {
	one, two := FreshPlace(), FreshPlace()
	if one == two || one.Hash == (Hash{}) || one.Sequence != 0 || one.Number != 0 {
		t.Errorf("found are %+v and %+v", one, two)
	}
	if back, err := DecodePlace(one.Encode()); err != nil || back != one {
		t.Errorf("%+v is read as %+v, %v", one, back, err)
	}
	if none, err := DecodePlace(nil); err != nil || none != (Place{}) {
		t.Errorf("no place is read as %+v, %v", none, err)
	}
}

// The first cut of a chain follows nothing. Where the first message is of another one, cuts
// before it were removed.
func TestBeginnings(t *testing.T) {
	s := newServers(t, 1, false)
	c, id := s.join("a"), market.ChainID(0)
	f := func(what string, want Beginning, append func(ch *Chain)) {
		t.Helper()
		id++
		ch := memberOf(t, c, id, false)
		append(ch)
		if got, err := ch.Beginning(t.Context()); err != nil || got != want {
			t.Errorf("%s: the stream begins with %d, %v; want %d", what, got, err, want)
		}
	}
	part := func(n int, after Place) func(ch *Chain) {
		return func(ch *Chain) {
			messages, _, err := encodeCut(after, noise(2*PartBytes), nil)
			if err == nil {
				_, err = ch.appendMessage(t.Context(), messages[n], fmt.Sprint(id))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	f("nothing", NoCuts, func(*Chain) {})
	f("the first part of the first cut", FirstCut, part(0, Place{}))
	f("the second part of it", LaterCut, part(1, Place{}))
	f("the second cut", LaterCut, part(0, Place{Number: 1}))
	f("a cut that follows data of a node", LaterCut, part(0, FreshPlace()))
	f("a cut of no parts", LaterCut, func(ch *Chain) {
		h := header{number: 1}
		if _, err := ch.appendMessage(t.Context(), h.append(nil), "none"); err != nil {
			t.Fatal(err)
		}
	})
	f("no cut", LaterCut, func(ch *Chain) {
		if _, err := ch.appendMessage(t.Context(), []byte("junk"), "junk"); err != nil {
			t.Fatal(err)
		}
	})
}

// The memory of large cuts is not kept.
func TestKeptBodies(t *testing.T) {
	f := func(size int, kept bool) {
		t.Helper()
		got := keepBody(make([]byte, 5, size))
		if (got != nil) != kept || len(got) != 0 || kept && cap(got) != size {
			t.Errorf("of %d bytes %d are kept; want %t", size, cap(got), kept)
		}
	}

	f(10, true)
	f(maxKeptBody, true)
	f(maxKeptBody+1, false)
}

// The store's cuts go to the chain that they are of, and come back with their place.
func TestTee(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	if _, err := a.c.Tee(9, nil, nil); err == nil || err.Error() != "chain 9 is not in the cluster" {
		t.Errorf("a cut of another chain: %v", err)
	}
	place, err := a.c.Tee(1, []byte("batch"), []byte("note"))
	if at, bad := DecodePlace(place); err != nil || bad != nil || at != a.at || at.Number != 1 {
		t.Errorf("the place is %+v, %v, %v; want %+v", at, err, bad, a.at)
	}
	b := s.member("b", false)
	takes(t, b, []byte("batch"), a.at)
	if m, ok := b.c.Status(1); !ok || m.Cut != 1 {
		t.Errorf("the status is %+v, of a chain that is shared: %t", m, ok)
	}

	appends(t, b, []byte("two"))
	if place, err := a.c.Tee(1, []byte("another two"), nil); !errors.Is(err, ErrOutdated) || place != nil {
		t.Errorf("a cut after another one: %x, %v", place, err)
	}
}

// The metrics of a chain count what was appended and refused, and its snapshots.
func TestMetricsOfAChain(t *testing.T) {
	s := newServers(t, 1, false)
	set := metrics.NewSet()
	a := s.member("a", false)
	a.metrics = newChainMetrics(set, 1)
	f := func(name string, want int) {
		t.Helper()
		var out bytes.Buffer
		set.WritePrometheus(&out)
		if line := fmt.Sprintf("tidemark_cluster_%s{chain=\"1\"} %d\n", name, want); !strings.Contains(out.String(), line) {
			t.Errorf("%s is not among\n%s", line, &out)
		}
	}

	messages, _, err := encodeCut(Place{}, noise(PartBytes), []byte("note"))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, m := range messages {
		size += len(m)
	}
	appends(t, a, noise(PartBytes))
	puts(t, a, noise(10))
	f("append_seconds_count", 1)
	f("append_bytes_total", size)
	f("snapshot_seconds_count", 1)
	a.seen = 0
	if _, err := a.Append(nil, nil); !errors.Is(err, ErrOutdated) {
		t.Errorf("an append after another one: %v", err)
	}
	f("refused_total", 1)
	f("broken_total", 0)

	full := errors.New("full")
	a.CountFailed()
	a.CountTaken()
	a.CountTaken()
	if err := a.CountRefused(full); err != full {
		t.Errorf("a refused snapshot: %v", err)
	}
	f("snapshot_failures_total", 1)
	f("snapshots_taken_total", 2)
	f("snapshots_refused_total", 1)
}

// What a node has pinned is heard by the others, not by itself.
func TestPinsAreTold(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a.TellPinned([]uint64{7, 5}) // again and again, since nobody may listen yet
		if got := fmt.Sprint(b.PinnedElsewhere()); got == "[5 7]" {
			break
		} else if time.Now().After(end) {
			t.Fatalf("pinned elsewhere are %s; want 5 and 7", got)
		}
	}

	if own := a.PinnedElsewhere(); len(own) > 0 {
		t.Errorf("a node hears itself: %v", own)
	}
}

// Cuts after snapshots of data that no cut made are kept.
func TestPruneBeforeTheFirstCut(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	for range keptSnapshots {
		found := FreshPlace()
		if _, err := a.PutSnapshot(t.Context(), found.Encode(), func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}

	one := appends(t, a, []byte("one"))
	if err := a.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(lists(t, a)); n != keptSnapshots {
		t.Errorf("%d snapshots are left; want %d", n, keptSnapshots)
	}
	takes(t, s.member("b", false), []byte("one"), one)
}

// FuzzSnapshot holds that no bytes of a snapshot make reading it panic, and that they are
// broken unless they are whole.
func FuzzSnapshot(f *testing.F) {
	at := Place{Sequence: 3, Number: 2}
	var whole bytes.Buffer
	w, err := newSnapshotWriter(&whole, 7, at)
	if err == nil {
		_, err = w.Write([]byte("content"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		f.Fatal(err)
	}

	f.Add(whole.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := newSnapshotReader(bytes.NewReader(text), 7, at)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil && !errors.Is(err, ErrBroken) || err == nil && len(text) < snapshotHeader+4+32 {
			t.Errorf("%x: %v", text, err)
		}
	})
}

// A snapshot ends where it says, also if what follows cannot be read.
func TestEndOfASnapshot(t *testing.T) {
	var whole bytes.Buffer
	at := Place{Sequence: 3, Number: 2}
	w, err := newSnapshotWriter(&whole, 7, at)
	if err == nil {
		_, err = w.Write([]byte("content"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	f := func(what string, from io.Reader, want error) {
		t.Helper()
		r, err := newSnapshotReader(from, 7, at)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if !errors.Is(err, want) || string(content) != "content" {
			t.Errorf("%s: %q, %v; want %v", what, content, err, want)
		}
		for range 2 {
			if n, again := r.Read(make([]byte, 1)); n != 0 || want == nil && again != io.EOF || want != nil && again != err {
				t.Errorf("%s: read once more it has %d bytes, %v", what, n, again)
			}
		}
	}
	broken := errors.New("the connection is gone")

	f("whole", bytes.NewReader(whole.Bytes()), nil)
	f("the end comes with the last byte", iotest.DataErrReader(bytes.NewReader(whole.Bytes())), nil)
	f("the connection ends there", io.MultiReader(bytes.NewReader(whole.Bytes()), iotest.ErrReader(broken)), broken)
	f("it goes on", io.MultiReader(bytes.NewReader(whole.Bytes()), strings.NewReader("x")), ErrBroken)
	for _, less := range []int{32, 32 + 4} { // without its hash, and without its end
		f("it is cut off after a run", bytes.NewReader(whole.Bytes()[:whole.Len()-less]), ErrBroken)
	}
	cut := whole.Bytes()[:whole.Len()-1]
	f("it is cut off in its hash", bytes.NewReader(cut), ErrBroken)
	f("the connection ends in its hash", io.MultiReader(bytes.NewReader(cut), iotest.ErrReader(broken)), broken)
	if uint64(whole.Len()) != w.bytes || w.unpacked != uint64(len("content")) {
		t.Errorf("it has %d bytes of %d; it says %d of %d", whole.Len(), len("content"), w.bytes, w.unpacked)
	}
}

// A snapshot does not depend on the parts in which its content is written.
func TestRunsOfASnapshot(t *testing.T) {
	content := bytes.Repeat([]byte("content "), runBytes/4) // two runs
	f := func(part int) string {
		t.Helper()
		var whole bytes.Buffer
		w, err := newSnapshotWriter(&whole, 7, Place{Sequence: 3, Number: 2})
		if err != nil {
			t.Fatal(err)
		}
		for p := range slices.Chunk(content, part) {
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatalf("%d bytes of %d were written: %v", n, len(p), err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return whole.String()
	}

	want := f(len(content))
	for _, part := range []int{1000, runBytes, runBytes + 1} {
		if got := f(part); got != want {
			t.Errorf("in parts of %d bytes a snapshot has %d bytes; want the same %d", part, len(got), len(want))
		}
	}
}

// failsOnce is where the bytes of a snapshot go. One write of them fails.
type failsOnce struct{ after int }

var errFull = errors.New("no room")

func (f *failsOnce) Write(p []byte) (int, error) {
	if f.after--; f.after == -1 {
		return 0, errFull
	}
	return len(p), nil
}

// A snapshot of which anything could not be written is not whole.
func TestSnapshotThatCannotBeWritten(t *testing.T) {
	content := make([]byte, 2*runBytes+1)
	for failing := range 7 { // its head, three runs, its end and its hash
		w, err := newSnapshotWriter(&failsOnce{after: failing}, 7, Place{Sequence: 3, Number: 2})
		if err == nil {
			_, err = w.Write(content)
		}
		if err == nil {
			err = w.Close()
		}

		if whole := failing == 6; whole != (err == nil) || !whole && !errors.Is(err, errFull) {
			t.Errorf("write %d fails: %v", failing, err)
		}
	}
}

// A coder that cannot be made is a mistake of this program.
func TestMust(t *testing.T) {
	if got := must(7, nil); got != 7 {
		t.Errorf("got %d; want 7", got)
	}
	defer func() {
		if got := recover(); got != "BUG: no coder" {
			t.Errorf("it ends with %v", got)
		}
	}()
	must(7, errors.New("no coder"))
}

// Servers say by their codes that another node was first, and that they are starting or wait
// for others.
func TestCodesOfServers(t *testing.T) {
	f := func(e jetstream.APIError, outdated, passing bool) {
		t.Helper()
		if isOutdated(&e) != outdated || passes(&e) != passing {
			t.Errorf("%+v: another was first: %t, it passes: %t", e, isOutdated(&e), passes(&e))
		}
	}

	f(jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}, true, false)
	f(jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}, true, false)
	f(jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamNotFound}, false, false)
	f(jetstream.APIError{Code: 409, ErrorCode: inProcess}, false, true)
	f(jetstream.APIError{Code: 499}, false, false)
	f(jetstream.APIError{Code: 500}, false, true)
	f(jetstream.APIError{Code: 503}, false, true)
}

// A stream in memory is refused, and one that is not there.
func TestCheckStream(t *testing.T) {
	s := newServers(t, 1, false)
	c := s.join("a")
	_, err := c.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "FAST", Subjects: []string{"fast"}, Storage: jetstream.MemoryStorage,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, want string) {
		t.Helper()
		servers, err := c.checkStream(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) || servers != nil {
			t.Errorf("%s is kept on %v, %v; want %q", name, servers, err, want)
		}
	}

	f("FAST", "stream FAST is kept in memory; want files, or --insecure-cluster")
	f(streamName, "stream "+streamName+" is kept on 1 servers; want 3, or --insecure-cluster")
	f("NONE", "cannot read how stream NONE is kept: ")
	if c.copies() != 1 || (&Cluster{}).copies() != replicas {
		t.Errorf("a stream is made with %d copies, and safely with %d", c.copies(), (&Cluster{}).copies())
	}
}

// What is told reaches who listens to the subject, with its header, and not who tells it.
func TestTellAndListen(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.join("a"), s.join("b")
	heard := make(chan string, 9)
	for _, c := range []*Cluster{a, b} {
		err := c.Listen("news", "Head", func(header string, body []byte) {
			heard <- fmt.Sprintf("%s %s %s", c.Node(), header, body)
		})
		if err == nil {
			err = c.nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	for _, subject := range []string{"other", "news"} {
		if err := a.Tell(subject, "Head", "hears", []byte(subject)); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-heard; got != "b hears news" {
		t.Errorf("%s; want b to hear the news", got)
	}
	if err := a.nc.Flush(); err != nil || len(heard) > 0 || !a.Connected() {
		t.Errorf("%v, %d more are heard, connected %t", err, len(heard), a.Connected())
	}
	a.nc.Close()
	if a.Connected() || a.Tell("news", "Head", "", nil) == nil {
		t.Error("something is told without a connection")
	}
}

// An answer of the stream's leader is a message, that there is none, or an error.
func TestAnswersOfTheLeader(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	at := appends(t, a, []byte("one"))
	m, err := a.c.messageOfLeader(t.Context(), a.subject, 0)
	if err != nil || m == nil || m.Sequence != at.Sequence || m.Subject != a.subject || len(m.Data) <= headerLen {
		t.Fatalf("the first cut: %+v, %v", m, err)
	}
	if m, err := a.c.messageOfLeader(t.Context(), a.subject, at.Sequence); m != nil || err != nil {
		t.Errorf("after the last cut: %+v, %v", m, err)
	}
	if m, err := a.messageAfter(t.Context(), at.Sequence); m != nil || err != nil {
		t.Errorf("after the last cut of the copy: %+v, %v", m, err)
	}

	// Another one answers for the leader.
	other := &Cluster{nc: answering(t)}
	f := func(subject, want string) {
		t.Helper()
		m, err := other.messageOfLeader(t.Context(), subject, 0)
		if m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", subject, m, err, want)
		}
	}
	f("{", "cannot read the answer of the stream's leader")
	f("{}", "the stream's leader answers without a message")
	f(`{"error":{"code":503,"err_code":10008,"description":"not now"}}`, "not now")
}

// A snapshot fits if the stream's next cut follows it, or if it is of the stream's last one.
func TestContinues(t *testing.T) {
	s := newServers(t, 1, false)
	c := s.join("a")
	ch, other := memberOf(t, c, 1, false), memberOf(t, c, 2, false)
	f := func(what string, at Place, want bool) {
		t.Helper()
		if got, err := ch.continues(t.Context(), at); got != want || err != nil {
			t.Errorf("%s: it continues %+v: %t, %v; want %t", what, at, got, err, want)
		}
	}

	f("before any cut", Place{}, true)
	f("of servers that were set up anew", Place{Sequence: 1, Number: 1}, false)
	one, of2 := appends(t, ch, []byte("one")), appends(t, other, []byte("of another chain"))
	f("before the first cut", Place{}, true)
	f("before another first cut", FreshPlace(), false)
	f("of the last cut", one, true)
	f("of another last cut", Place{Sequence: one.Sequence, Number: 1, Hash: Hash{7}}, false)
	f("of a cut of another chain", of2, false)

	two := appends(t, ch, []byte("two"))
	f("of the one before", one, true)
	f("of another number", Place{Sequence: one.Sequence, Number: 2, Hash: one.Hash}, false)
	f("of another one before", Place{Sequence: one.Sequence, Number: 1, Hash: Hash{7}}, false)
	f("of the last", two, true)
	if _, err := ch.appendMessage(t.Context(), []byte("junk"), "junk"); err != nil {
		t.Fatal(err)
	}
	f("before what is no cut", two, false)
	f("of what is no cut", Place{Sequence: ch.seen + 1}, false)
}

// Before a node writes, the stream must have what the node has, unless that was removed.
func TestCheckEnd(t *testing.T) {
	s := newServers(t, 1, false)
	c := s.join("a")
	ch, other := memberOf(t, c, 1, false), memberOf(t, c, 2, false)
	one, of2 := appends(t, ch, []byte("one")), appends(t, other, []byte("of another chain"))
	two := appends(t, ch, []byte("two"))
	f := func(what string, at Place, last uint64, want string) {
		t.Helper()
		ch.at = at
		err := ch.checkEnd(t.Context(), last)
		refused := errors.Is(err, ErrBroken) && strings.Contains(err.Error(), want)
		if want == "" && err != nil || want != "" && !refused {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	wrong := func(p Place) Place { p.Hash[0]++; return p }

	f("nothing", Place{}, 0, "")
	f("the last cut", two, two.Sequence, "")
	f("another last cut", wrong(two), two.Sequence, "message 3 of the stream is not the cut 2 of chain 1")
	f("the first message", one, one.Sequence, "")
	f("another first message", wrong(one), one.Sequence, "message 1 of the stream is not the cut 1")
	f("a part of a cut that was not finished", wrong(one), two.Sequence, "")
	f("a message of another chain", of2, of2.Sequence, "message 2 of the stream is not the cut 1")
	f("more than there is", two, two.Sequence+1, "the stream ends at message 3; this node has chain 1 up to message 4")
	if _, err := ch.appendMessage(t.Context(), []byte("junk"), "junk"); err != nil {
		t.Fatal(err)
	}
	f("what is no cut", one, two.Sequence+1, "message 4 of the stream is not")

	if err := c.stream.DeleteMsg(t.Context(), two.Sequence); err != nil {
		t.Fatal(err)
	}
	f("a cut that was removed", wrong(two), two.Sequence, "")
	if err := c.stream.Purge(t.Context(), jetstream.WithPurgeSequence(two.Sequence)); err != nil {
		t.Fatal(err)
	}
	f("the first of those that were", wrong(one), one.Sequence, "")
	ch.lead.ready.Store(true)
	f("it was checked before", two, two.Sequence+9, "")
	ch.lead.ready.Store(false)
	c.made = c.made.Add(1)
	f("a stream that was made anew", Place{}, 0, "was made anew")
}

// debugLines counts what a log has for those who look for a fault.
type debugLines struct{ n atomic.Int64 }

func (d *debugLines) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("level=DEBUG")) {
		d.n.Add(1)
	}
	return len(line), nil
}

// That something cannot be told is said when it fails, until the chain is stopped.
func TestWhatCannotBeTold(t *testing.T) {
	log := &debugLines{}
	config := newServers(t, 1, false).config("a")
	config.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ch := memberOf(t, c, 1, false)
	f := func(what string, lines int64) {
		t.Helper()
		log.n.Store(0)
		ch.Tell([]byte("beat"))
		ch.Want(1)
		ch.TellPinned([]uint64{1})
		if got := log.n.Load(); got != lines {
			t.Errorf("%s: the log has %d lines; want %d", what, got, lines)
		}
	}

	f("connected", 0)
	c.nc.Close()
	f("not connected", 3)
	ch.Stop()
	f("stopped", 0)
}

// answering is a connection on which the stream's leader answers with the subject that it is
// asked for.
func answering(t *testing.T) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(natstest.StartLocked(t).URLs()[0], nats.UserInfo("u", "p"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)

	_, err = nc.Subscribe("$JS.API.STREAM.MSG.GET."+streamName, func(m *nats.Msg) {
		var q struct {
			Next string `json:"next_by_subj"`
		}
		err := json.Unmarshal(m.Data, &q)
		if err == nil {
			err = m.Respond([]byte(q.Next))
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return nc
}
