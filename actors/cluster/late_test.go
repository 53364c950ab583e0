package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster/natstest"
)

// late opens a node whose servers do not answer, and has it join when wire is healed.
func (s *servers) late(change func(*Config), check func() error) (
	c *Cluster, wire *natstest.Proxy, refused chan error,
) {
	s.t.Helper()
	wire = natstest.NewProxy(s.t, s.URLs()[0])
	wire.Cut()
	config := s.config("late")
	config.Servers = []string{wire.URL()}
	var unreached *Unreached
	if _, err := Open(s.t.Context(), config); !errors.As(err, &unreached) {
		s.t.Fatalf("servers that do not answer: %v", err)
	}
	change(&config)

	c, err := OpenLater(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	refused = make(chan error, 1)
	c.JoinLater(check, func(err error) { refused <- err })
	return c, wire, refused
}

// A node that was opened before the servers answer asks them nothing and leads nothing. Once
// they answer it is a node like others.
func TestJoinsLater(t *testing.T) {
	s := newServers(t, 1, false)
	at := appends(t, s.member("a", false), []byte("one"))
	c, wire, _ := s.late(func(*Config) {}, func() error { return nil })
	ch := memberOf(t, c, 1, true)
	bucket, err := c.Bucket(t.Context(), "TEST")
	if err != nil {
		t.Fatal(err)
	}

	_, began := ch.Beginning(t.Context())
	_, wrote := ch.Writer(t.Context())
	_, got := bucket.Get(t.Context(), "key")
	_, put := bucket.PutLast(t.Context(), "key", nil, 0)
	for _, err := range []error{began, wrote, got, put} {
		if !errors.Is(err, errNotJoined) {
			t.Errorf("before it has joined: %v", err)
		}
	}
	if c.Reaches(t.Context()) || ch.Leads() || ch.lead.ready.Load() {
		t.Error("before it has joined, the node is to write")
	}

	wire.Heal()
	takes(t, ch, []byte("one"), at)
	if err := c.Joined(); err != nil || !c.Reaches(t.Context()) {
		t.Errorf("after it has joined: %v", err)
	}
	if _, err := bucket.Create(t.Context(), "key", nil); err != nil {
		t.Errorf("a bucket that was awaited: %v", err)
	}
}

// What would have been refused at the start is refused later.
func TestLateRefusal(t *testing.T) {
	s := newServers(t, 1, false)
	s.join("a")
	f := func(want string, change func(*Config), check error) {
		t.Helper()
		c, wire, refused := s.late(change, func() error { return check })
		wire.Heal()

		select {
		case err := <-refused:
			if !strings.Contains(err.Error(), want) || c.Joined() == nil {
				t.Errorf("refused is %v, joined %v; want that %s", err, c.Joined(), want)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("nothing is refused; want that %s", want)
		}
	}

	f("is kept on 1 servers", func(c *Config) { c.Insecure = false }, nil)
	closed := natstest.StartLocked(t)
	f("refuse this node", func(c *Config) { c.Servers = closed.URLs() }, nil)
	f("another stream", func(*Config) {}, errors.New("another stream"))
}

// A node has joined when every bucket is open that it was asked for before.
func TestJoinedWithItsBuckets(t *testing.T) {
	c := new(Cluster)
	one, two, late := new(Bucket), new(Bucket), new(Bucket)
	f := func(want bool) {
		t.Helper()
		if got := c.noteJoined(); got != want || (c.Joined() == nil) != want {
			t.Errorf("has joined: %t, %v; want %t", got, c.Joined(), want)
		}
	}
	open := func(b *Bucket) { b.kv = struct{ jetstream.KeyValue }{} }

	if !c.await(one) || !c.await(two) {
		t.Error("a bucket is not awaited before the node has joined")
	}
	f(false)
	open(two)
	f(false)
	open(one)
	f(true)
	if c.await(late) || len(c.awaited) != 2 {
		t.Errorf("%d buckets are awaited after the node has joined; want 2", len(c.awaited))
	}
}

// What a server answers refuses the node; what keeps it from answering does not.
func TestRefusals(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if got := isRefusal(fmt.Errorf("cannot connect: %w", err)); got != want {
			t.Errorf("%v is a refusal: %t; want %t", err, got, want)
		}
	}

	f(nats.ErrAuthorization, true)
	f(tls.AlertError(42), true)
	f(&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, true)
	f(nats.ErrNoServers, false)
	f(nats.ErrTimeout, false)
	f(nats.ErrConnectionClosed, false)
	f(io.EOF, false)
	f(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false)
}

// Servers that refuse a node's credentials refuse its start.
func TestRefusedCredentials(t *testing.T) {
	s := newServers(t, 1, false)
	config := s.config("a")
	config.Servers = natstest.StartLocked(t).URLs()
	_, err := Open(t.Context(), config)
	var unreached *Unreached
	if err == nil || errors.As(err, &unreached) {
		t.Errorf("refused credentials are %v", err)
	}
}

// A node joins while one of three servers is down. Once that one is back it is asked whether
// it syncs, and the node is refused if a cut may be lost there.
func TestJoinsWithoutOneServer(t *testing.T) {
	s := newServers(t, 3, true)
	s.join("a").Close()
	var answer atomic.Value
	monitoring := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, answer.Load())
	}))
	defer monitoring.Close()
	config := s.config("b")
	config.Monitoring[2] = monitoring.URL
	s.Stop(2)

	join := func() *Cluster {
		t.Helper()
		answer.Store("")
		c, err := Open(t.Context(), config)
		var unreached *Unreached
		for end := time.Now().Add(time.Minute); errors.As(err, &unreached) && time.Now().Before(end); {
			time.Sleep(startPause) // the others do not know yet that it is down
			c, err = Open(t.Context(), config)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}

	c := join()
	answer.Store(`{"server_name":"s2","jetstream":{"config":{"sync_always":true}}}`)
	c.askLater(func(err error) { t.Errorf("a server that syncs is refused: %v", err) })
	if said := c.said.Load(); !said.synced["s2"] {
		t.Errorf("a server that syncs said %+v", said)
	}

	c = join()
	answer.Store(`{"server_name":"s2","jetstream":{"config":{}}}`)
	var refused error
	c.askLater(func(err error) { refused = err })
	const want = "the NATS server s2 at http"
	if refused == nil || !strings.HasPrefix(refused.Error(), want) {
		t.Errorf("a server that does not sync is refused with %v; want %s", refused, want)
	}
}
