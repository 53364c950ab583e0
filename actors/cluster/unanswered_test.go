package cluster

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Without a connection every question to the servers is an error, and none of it says that
// the cuts are broken.
func TestQuestionsWithoutConnection(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	at := appends(t, a, []byte("one"))
	snapshot := puts(t, a, noise(10))
	snapshot.whole = true
	orphan := &listing{chunks: map[string]uint64{chunkSubjects + "ORPHAN": 1}, at: time.Now().Add(2 * orphanAge)}
	if _, err := a.c.js.Publish(t.Context(), chunkSubjects+"ORPHAN", nil); err != nil {
		t.Fatal(err)
	}
	objects := a.c.objects
	a.c.objects = unpurged{objects}
	if err := a.c.deleteOrphans(t.Context(), orphan); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("chunks that cannot be deleted: %v", err)
	}
	a.c.objects = objects
	gone := &listing{chunks: map[string]uint64{chunkSubjects + "GONE": 1}, at: orphan.at}
	if err := a.c.deleteOrphans(t.Context(), gone); err != nil {
		t.Errorf("chunks that another node has deleted: %v", err)
	}

	a.c.nc.Close()
	f := func(what string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := a.Beginning(t.Context())
	f("the beginning", err)
	_, err = a.Snapshots(t.Context())
	f("the snapshots", err)
	_, err = a.OpenSnapshot(t.Context(), snapshot)
	f("a snapshot", err)
	_, err = a.continues(t.Context(), at)
	f("whether a snapshot fits", err)
	_, err = a.Writer(t.Context())
	f("the writer", err)
	_, err = a.messageAfter(t.Context(), 0)
	f("the next cut", err)
	_, err = a.c.messageOfLeader(t.Context(), a.subject, 0)
	f("the next cut of the leader", err)
	_, err = a.c.Agree(t.Context(), "name", "value")
	f("what the nodes agree on", err)
	f("chunks without an end", a.c.deleteOrphans(t.Context(), orphan))
	f("the end of the stream", a.checkEnd(t.Context(), at.Sequence))
	if a.c.Reaches(t.Context()) {
		t.Error("the servers are reached without a connection")
	}
	_, err = a.c.Chain(2, false, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "cannot listen to the writer of chain 2: ") {
		t.Errorf("a chain without a connection: %v", err)
	}
}

// silent is a stream that does not answer some questions.
type silent struct {
	jetstream.Stream
	infos     int // that are answered
	get, last error
}

func (s *silent) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	if s.infos--; s.infos < 0 {
		return nil, io.ErrNoProgress
	}
	return s.Stream.Info(ctx, options...)
}

func (s *silent) GetMsg(
	ctx context.Context, sequence uint64, options ...jetstream.GetMsgOpt,
) (*jetstream.RawStreamMsg, error) {
	if s.get != nil {
		return nil, s.get
	}
	return s.Stream.GetMsg(ctx, sequence, options...)
}

func (s *silent) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if s.last != nil {
		return nil, s.last
	}
	return s.Stream.GetLastMsgForSubject(ctx, subject)
}

// A question that is not answered is an error, whichever of several it is.
func TestQuestionsWithoutAnswer(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	at := appends(t, a, []byte("one"))
	puts(t, a, noise(10))
	stream, objects := a.c.stream, a.c.objects
	f := func(what string, of silent, ask func() error, want error) {
		t.Helper()
		cuts, kept := of, of
		cuts.Stream, kept.Stream = stream, objects
		a.c.stream, a.c.objects = &cuts, &kept
		if err := ask(); !errors.Is(err, want) {
			t.Errorf("%s: %v; want %v", what, err, want)
		}
	}
	begins := func() error { _, err := a.Beginning(t.Context()); return err }
	lists := func() error { _, err := a.Snapshots(t.Context()); return err }
	fits := func() error { _, err := a.continues(t.Context(), at); return err }
	ends := func() error { return a.checkEnd(t.Context(), at.Sequence) }
	comes := func() error { _, err := a.nextCut(t.Context(), false); return err }
	no := io.ErrNoProgress

	f("where the stream begins", silent{}, begins, no)
	f("its first message", silent{infos: 1, get: no}, begins, no)
	f("where it ends", silent{}, ends, no)
	f("its last message", silent{infos: 1, get: no}, ends, no)
	f("a message that was removed", silent{infos: 1, get: jetstream.ErrMsgNotFound}, ends, nil)
	f("the next message", silent{infos: 9, get: no}, comes, no)
	f("whether a snapshot fits", silent{get: no}, fits, no)
	f("the objects", silent{}, lists, no)
	f("their parts", silent{infos: 1}, lists, no)
	f("what an object is", silent{infos: 2, last: no}, lists, no)
	f("an object that was deleted", silent{infos: 2, last: jetstream.ErrMsgNotFound}, lists, nil)
	f("all", silent{infos: 2}, lists, nil)
}

// unstored are servers that store no messages of some subjects.
type unstored struct {
	jetstream.JetStream
	prefix string
}

func (u unstored) PublishMsg(
	ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt,
) (*jetstream.PubAck, error) {
	if strings.HasPrefix(m.Subject, u.prefix) {
		return nil, &jetstream.APIError{Code: 400, Description: "no room"}
	}
	return u.JetStream.PublishMsg(ctx, m, options...)
}

// A snapshot of which a part, or what it is, cannot be stored is given up, and leaves nothing.
func TestSnapshotWithoutRoom(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	servers := a.c.js
	for _, prefix := range []string{chunkSubjects, infoSubjects} {
		for _, size := range []int{10, 2 * PartBytes} {
			a.c.js = unstored{servers, prefix}
			_, err := a.PutSnapshot(t.Context(), a.at.Encode(), func(w io.Writer) error {
				_, err := w.Write(noise(size))
				return err
			})

			if err == nil || !strings.HasPrefix(err.Error(), "cannot store snapshot 1.0.0000000000000000: ") {
				t.Errorf("%d bytes without room for %s: %v", size, prefix, err)
			}
			left, _, err := a.c.objectSubjects(t.Context(), chunkSubjects)
			if err != nil || len(left) > 0 || a.newest.Load() != nil {
				t.Errorf("%d bytes without room for %s: left are %v, %v", size, prefix, left, err)
			}
		}
	}
}

// A cut that the leader of the stream has, but no quorum yet, is waited for.
func TestQuorumComesLate(t *testing.T) {
	s := newServers(t, 3, true)
	a, b := s.member("a", false), s.member("b", false)
	takes(t, b, []byte("one"), appends(t, a, []byte("one")))
	info, err := a.c.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var stopped []int
	for i, one := range s.All {
		if one.Name() != info.Cluster.Leader {
			s.Stop(i)
			stopped = append(stopped, i)
		}
	}

	appended := make(chan error, 1)
	go func() {
		_, err := a.Append([]byte("two"), []byte("note"))
		appended <- err
	}()
	time.Sleep(2*appendTry + retryPause) // longer than an attempt
	s.Again(t, stopped[0])
	if err := <-appended; err != nil {
		t.Fatal(err)
	}
	takes(t, b, []byte("two"), a.at)
}
