package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// shifted is a stream on servers whose clocks are that much ahead.
type shifted struct {
	jetstream.Stream
	by time.Duration
}

func (s shifted) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	info, err := s.Stream.Info(ctx, options...)
	if err == nil {
		info.TimeStamp = info.TimeStamp.Add(s.by)
	}
	return info, err
}

func (s shifted) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	m, err := s.Stream.GetLastMsgForSubject(ctx, subject)
	if err == nil {
		m.Time = m.Time.Add(s.by)
	}
	return m, err
}

// How old a snapshot is, and whether the writer of chunks may be alive, does not depend on
// how far the clocks of node and servers are apart.
func TestServersWithAnotherClock(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	appends(t, a, []byte("one"))
	puts(t, a, noise(1000))
	if _, err := a.c.js.Publish(t.Context(), chunkSubjects+"RUNNING", noise(10)); err != nil {
		t.Fatal(err)
	}

	objects := a.c.objects
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		a.c.objects = shifted{objects, by}
		if age := time.Since(lists(t, a)[0].Made); age.Abs() > time.Minute {
			t.Errorf("servers %s ahead: the snapshot that was just made is %s old", by, age)
		}
		if err := a.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, _, err := a.c.objectSubjects(t.Context(), chunkSubjects); err != nil || len(left) != 2 {
			t.Errorf("servers %s ahead: there are chunks of %d objects, %v; want 2", by, len(left), err)
		}
	}
}
