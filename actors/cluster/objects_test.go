package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// puts stores a snapshot of the chain as it is.
func puts(t *testing.T, ch *Chain, export []byte) *Snapshot {
	t.Helper()
	s, err := ch.PutSnapshot(t.Context(), ch.at.Encode(), func(w io.Writer) error {
		for len(export) > 0 { // in pieces that fit nothing
			n, err := w.Write(export[:min(len(export), 1001)])
			if err != nil {
				return err
			}
			export = export[n:]
		}
		return nil
	})

	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lists returns the snapshots that a node sees.
func lists(t *testing.T, ch *Chain) []*Snapshot {
	t.Helper()
	all, err := ch.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readSnapshot(ctx context.Context, ch *Chain, s *Snapshot) ([]byte, error) {
	r, err := ch.OpenSnapshot(ctx, s)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Snapshots of any size come as they were, with what they are.
func TestSnapshotsComeAsTheyWere(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	if all := lists(t, b); len(all) > 0 {
		t.Errorf("there are %d snapshots", len(all))
	}
	for i, size := range []int{0, 1, 10, runBytes, 3*PartBytes + 7} {
		appends(t, a, []byte("cut"))
		export := noise(size)
		put := puts(t, a, export)
		all := lists(t, b)
		if len(all) != i+1 {
			t.Fatalf("there are %d snapshots; want %d", len(all), i+1)
		}

		got := all[0]
		if got.Place != a.at || got.Bytes != put.Bytes || got.Unpacked != uint64(size) ||
			got.Node != "a" || got.SHA256 != put.SHA256 || put.Made.Sub(got.Made).Abs() > time.Minute {
			t.Errorf("the snapshot is %+v; want %+v", got, put)
		}
		back, err := readSnapshot(t.Context(), b, got)
		if err != nil || !bytes.Equal(back, export) {
			t.Errorf("of %d bytes came %d, %v", size, len(back), err)
		}
	}
}

// A snapshot that is not as it was stored is refused, wherever it is damaged, and so is
// one that the stream does not continue.
func TestDamagedSnapshotIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	c := s.join("a")
	export, id := noise(PartBytes+100), market.ChainID(0)
	f := func(want string, damage func(ch *Chain, chunks [][]byte) [][]byte) {
		t.Helper()
		id++
		ch := memberOf(t, c, id, false)
		appends(t, ch, []byte("one"))
		puts(t, ch, export)
		got := lists(t, ch)[0]
		replaceChunks(t, c, got, func(chunks [][]byte) [][]byte { return damage(ch, chunks) })

		got = lists(t, ch)[0]
		_, err := readSnapshot(t.Context(), ch, got)
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("it is answered %v; want %q", err, want)
		}
	}
	flip := func(chunk, at int) func(*Chain, [][]byte) [][]byte {
		return func(_ *Chain, chunks [][]byte) [][]byte { chunks[chunk][at] ^= 4; return chunks }
	}

	f("is no snapshot that this program knows", flip(0, 5))
	f("the snapshot 1 is of format", func(_ *Chain, chunks [][]byte) [][]byte {
		chunks[0][6] = 9
		return chunks
	})
	f("is a snapshot of chain", flip(0, 14))
	f("is a snapshot of chain", flip(0, 40)) // its place
	f("a run of the snapshot has", flip(0, 65))
	f("the snapshot", flip(0, 30_000))
	f("does not have the hash", func(_ *Chain, chunks [][]byte) [][]byte {
		last := chunks[len(chunks)-1]
		last[len(last)-1] ^= 1
		return chunks
	})
	f("cut off", func(_ *Chain, chunks [][]byte) [][]byte { return chunks[:1] })
	f("cut off", func(_ *Chain, chunks [][]byte) [][]byte { // to the byte, with all chunks
		last := len(chunks) - 1
		chunks[last] = chunks[last][:10]
		return chunks
	})
	f("goes on after its end", func(_ *Chain, chunks [][]byte) [][]byte {
		last := len(chunks) - 1
		chunks[last] = append(chunks[last], 0)
		return chunks
	})
	f("the stream does not continue", func(ch *Chain, chunks [][]byte) [][]byte {
		ch.at.Hash[0]++
		appends(t, ch, []byte("of another history"))
		return chunks
	})
}

// replaceChunks stores other chunks of a snapshot.
func replaceChunks(t *testing.T, c *Cluster, s *Snapshot, change func([][]byte) [][]byte) {
	t.Helper()
	subject, last := chunkSubjects+s.nuid, uint64(0)
	var chunks [][]byte
	for {
		m, err := c.messageOf(t.Context(), c.objects, subject, last)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			break
		}
		last, chunks = m.Sequence, append(chunks, m.Data)
	}

	if err := c.purgeObjects(t.Context(), subject); err != nil {
		t.Fatal(err)
	}
	for _, chunk := range change(chunks) {
		if _, err := c.js.Publish(t.Context(), subject, chunk); err != nil {
			t.Fatal(err)
		}
	}
}

// The newest two snapshots stay, with the cuts after the older one. One that is cut off
// does not count, and what a dead writer left goes once it is old.
func TestPruneKeepsTwo(t *testing.T) {
	s := newServers(t, 1, false)
	a, other := s.member("a", false), memberOf(t, s.join("b"), 7, false)
	appends(t, other, []byte("of another chain"))
	puts(t, other, noise(10))
	var places []Place
	first := func() uint64 {
		t.Helper()
		if err := a.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		m, err := a.messageAfter(t.Context(), 0)
		if err != nil || m == nil {
			t.Fatal(err)
		}
		return m.Sequence
	}
	for range 4 {
		places = append(places, appends(t, a, noise(PartBytes+1)))
		puts(t, a, noise(1000))
		if len(places) == 1 && first() != 2 {
			t.Error("cuts are gone with a single snapshot")
		}
	}

	replaceChunks(t, a.c, lists(t, a)[1], func([][]byte) [][]byte { return nil })
	if got := first(); got != places[1].Sequence {
		t.Errorf("the stream begins at message %d; want that of cut 2, %d", got, places[1].Sequence)
	}
	if all := lists(t, a); len(all) != 3 || all[2].Place != places[1] {
		t.Errorf("%d snapshots are left", len(all))
	}
	if all := lists(t, other); len(all) != 1 {
		t.Error("a snapshot of another chain is gone")
	}

	late := s.member("late", false)
	breaks(t, late, "cut 2 follows cut 0")
	if has, err := late.Beginning(t.Context()); has != LaterCut || err != nil {
		t.Errorf("the stream begins with %d, %v", has, err)
	}
	back := lists(t, late)[0]
	if err := late.Start(back.Place.Encode()); err != nil {
		t.Fatal(err)
	}
	next := appends(t, a, []byte("next"))
	takes(t, late, []byte("next"), next)
}

// Chunks without an end stay while their writer may be alive. Those of a snapshot stay.
func TestOrphansGoOnceTheyAreOld(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	appends(t, a, []byte("one"))
	puts(t, a, noise(1000))
	orphan := chunkSubjects + "ORPHAN"
	if _, err := a.c.js.Publish(t.Context(), orphan, noise(10)); err != nil {
		t.Fatal(err)
	}
	m, err := a.c.objects.GetLastMsgForSubject(t.Context(), orphan)
	if err != nil {
		t.Fatal(err)
	}

	f := func(age time.Duration, left int) {
		t.Helper()
		l, err := a.c.listSnapshots(t.Context())
		if err != nil || len(l.all[1]) != 1 || !l.all[1][0].whole {
			t.Fatalf("the snapshots are %+v, %v", l, err)
		}
		l.at = m.Time.Add(age)
		if err := a.c.deleteOrphans(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		chunks, _, err := a.c.objectSubjects(t.Context(), chunkSubjects)
		if err != nil || len(chunks) != left {
			t.Errorf("after %s there are chunks of %d objects, %v; want %d", age, len(chunks), err, left)
		}
	}
	f(orphanAge-1, 2)

	// They may be of a snapshot of a later build.
	later := infoSubjects + "LATER"
	if _, err := a.c.js.Publish(t.Context(), later, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	f(orphanAge, 2)
	if err := a.c.purgeObjects(t.Context(), later); err != nil {
		t.Fatal(err)
	}

	f(orphanAge, 1)
	f(time.Hour+orphanAge, 1)
}

// A snapshot whose writer fails leaves nothing.
func TestFailedSnapshotLeavesNothing(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	appends(t, a, []byte("one"))
	_, err := a.PutSnapshot(t.Context(), a.at.Encode(), func(w io.Writer) error {
		w.Write(noise(3 * PartBytes))
		return errors.New("the disk is gone")
	})

	if err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("it is answered %v", err)
	}
	info, err := a.c.objects.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil || len(info.State.Subjects) > 0 {
		t.Errorf("it left %v, %v", info.State.Subjects, err)
	}
}

// A follower knows who writes, how far it is behind, and the newest snapshot, and can ask
// for another one.
func TestStatus(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	one := appends(t, a, []byte("one"))
	put := puts(t, a, noise(100))
	told := func(want rankings.Membership) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			a.Tell(nil) // again and again, since nobody may listen yet
			got := b.Status()
			behind := got.LagMillis > 0
			got.LagMillis = 0
			if got == want && behind == (want.LagCuts > 0) {
				return
			} else if time.Now().After(end) {
				t.Fatalf("the status is %+v; want %+v", got, want)
			}
		}
	}

	want := rankings.Membership{Writer: "a", LagCuts: 1}
	want.Snapshot = rankings.ChainSnapshot{Cut: 1, Bytes: put.Bytes, MadeAt: put.Made.UnixMilli()}
	told(want)
	takes(t, b, []byte("one"), one)
	want.Cut, want.LagCuts = 1, 0
	told(want)

	for end := time.Now().Add(10 * time.Second); a.Wanted() != 1; time.Sleep(10 * time.Millisecond) {
		b.Want(1)
		if time.Now().After(end) {
			t.Fatal("the writer does not hear what is wanted")
		}
	}
}

// The gauges of a chain say who writes it, how far this node is behind and what snapshot
// there is; what is not known is no number.
func TestGauges(t *testing.T) {
	s := newServers(t, 1, false)
	set := metrics.NewSet()
	ch := s.member("a", false)
	ch.addGauges(set)
	f := func(name, want string) {
		t.Helper()
		var out bytes.Buffer
		set.WritePrometheus(&out)
		name = fmt.Sprintf(`tidemark_cluster_%s{chain="1"} `, name)
		_, rest, found := strings.Cut("\n"+out.String(), "\n"+name)
		if got, _, _ := strings.Cut(rest, "\n"); !found || !strings.HasPrefix(got, want) {
			t.Errorf("%s%s; want %s", name, got, want)
		}
	}

	f("writer", "0")
	f("lag_cuts", "NaN")
	f("lag_seconds", "NaN")
	f("snapshot_age_seconds", "NaN")
	f("snapshot_bytes", "0")

	now := time.Now()
	ch.writerState.Store(&writerState{Node: "b", Cut: 5, at: now, Snapshot: rankings.ChainSnapshot{
		Cut: 3, Bytes: 900, MadeAt: now.Add(-50 * time.Minute).UnixMilli(),
	}})
	ch.number.Store(2)
	ch.behindSince.Store(in(-500 * time.Second))
	f("writer", "0")
	f("lag_cuts", "3")
	f("lag_seconds", "50")
	f("snapshot_age_seconds", "300")
	f("snapshot_bytes", "900")

	ch.lead.until.Store(in(time.Hour))
	f("writer", "1")
	f("lag_cuts", "0")
	f("lag_seconds", "0")
}
