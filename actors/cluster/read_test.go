package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A node takes cuts from the leader of the stream while the copy that it reads lacks them,
// without waiting if the writer told of them, and before it writes.
func TestCopyThatIsBehind(t *testing.T) {
	s := newServers(t, 1, false)
	a, b, c := s.member("a", false), s.member("b", false), s.member("c", true)
	ends(t, b)
	elected(t, c)
	b.c.stream, c.c.stream = b.c.objects, c.c.objects // stand for copies that have none of the cuts

	long := noise(PartBytes + 5)
	at := appends(t, a, long)
	a.Tell([]byte("{}"))
	takes(t, b, long, at)
	takes(t, c, long, at) // before it is told to write
	elected(t, c)

	soon(t, pollEvery, func() {
		batch := noise(10)
		at := appends(t, a, batch)
		a.Tell([]byte("{}"))
		b.quiet = false // or it would ask the leader in any case
		takes(t, b, batch, at)
	})
}

// The leader is asked where the copy has nothing: if nothing was heard for a while, if the
// writer told of more, and before this node writes.
func TestLeaderIsAsked(t *testing.T) {
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	at := appends(t, ch, []byte("one"))
	copied := ch.c.stream
	f := func(what string, stream jetstream.Stream, told uint64, quiet, leads, finds bool) {
		t.Helper()
		ch.c.stream, ch.quiet = stream, quiet
		ch.writerState.Store(&writerState{Cut: told})
		m, err := ch.newestAfter(t.Context(), 0, leads)
		if err != nil || (m != nil) != finds || finds && m.Sequence != at.Sequence {
			t.Errorf("%s: %+v, %v; want a cut: %t", what, m, err, finds)
		}
	}

	f("the copy has it", copied, 0, false, false, true)
	empty := ch.c.objects // stands for a copy that is behind
	f("it does not", empty, 1, false, false, false)
	f("nothing was heard", empty, 1, true, false, true)
	f("the writer has more", empty, 2, false, false, true)
	f("this node may write", empty, 1, false, true, true)
	ch.writerState.Store(nil)
	if m, err := ch.newestAfter(t.Context(), 0, false); m != nil || err != nil {
		t.Errorf("before the writer was heard: %+v, %v", m, err)
	}
}

// electing is a copy of the stream that is behind, where a node looks just before it is
// elected.
type electing struct {
	jetstream.Stream
	ch *Chain
}

func (s electing) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	s.ch.lead.until.Store(in(time.Hour))
	return nil, jetstream.ErrMsgNotFound
}

// A node that is elected while it looks for cuts looks again, since it has not asked the
// leader of the stream yet.
func TestElectedWhileItLooks(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	ends(t, b)
	b.c.stream = electing{b.c.stream, b}
	at := appends(t, a, []byte("one"))
	takes(t, b, []byte("one"), at)
	elected(t, b)
}

// A node that hears nothing for a while asks the leader, although nobody told it of a cut.
func TestQuietNodeAsksTheLeader(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	ends(t, b)
	b.c.stream = b.c.objects // stands for a copy that is behind
	takes(t, b, []byte("one"), appends(t, a, []byte("one")))
}
