package rpc

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"

	"tidemark/actors/feed/endpoint"
)

// teller tells of heads over a websocket.
type teller struct {
	mu    sync.Mutex
	tells []func()
}

// NewHeads is eth_subscribe("newHeads").
func (n *teller) NewHeads(ctx context.Context) (*geth.Subscription, error) {
	notifier, _ := geth.NotifierFromContext(ctx)
	sub := notifier.CreateSubscription()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tells = append(n.tells, func() { _ = notifier.Notify(sub.ID, object{"number": "0x1"}) })
	return sub, nil
}

func (n *teller) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, tell := range n.tells {
		tell()
	}
}

func newTeller(t *testing.T) (*teller, *httptest.Server) {
	n, server := new(teller), geth.NewServer()
	if err := server.RegisterName("eth", n); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.WebsocketHandler([]string{"*"}))
	t.Cleanup(func() { server.Stop(); s.Close() })
	return n, s
}

// subscribed follows a chain by the system's clock, with a subscription beside
// the node.
func subscribed(t *testing.T, n *fakeNode, ws string, poll time.Duration) *follower {
	return follow(t, func(c *Config) {
		c.Clock, c.Poll = endpoint.Clock{}, poll
		c.Endpoints = append(c.Endpoints,
			EndpointConfig{Name: "heads", URL: "ws" + strings.TrimPrefix(ws, "http")})
	}, n)
}

// A head that a subscription tells of is read at once, however rarely heads are
// polled.
func TestSubscribedHeads(t *testing.T) {
	c := busy(30)
	teller, ws := newTeller(t)
	l := subscribed(t, newNode(t, c), ws.URL, time.Hour)
	l.read(c)
	l.awaitLive()

	for range 3 {
		c.mine(swapped(1))
		teller.tell()
		l.read(c)
	}
	l.same(c)
}

// awaitLive waits until the subscription is live.
func (l *follower) awaitLive() {
	l.t.Helper()
	for end := time.Now().Add(10 * time.Second); !l.f.streams[0].Live(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatal("the subscription is never live")
		}
	}
}

// read calls Next until the ledger is at the chain's head.
func (l *follower) read(c *fakeChain) {
	l.t.Helper()
	for range 20 {
		if err := l.next(); err != nil {
			l.t.Fatal(err)
		}
		if n := len(l.spans); n > 0 && l.spans[n-1].Hash == c.head().hash {
			return
		}
	}
	l.t.Fatal("not at the head")
}

// Without the subscription heads are polled, and as often as without one.
func TestPollingWithoutSubscription(t *testing.T) {
	c := busy(30)
	_, ws := newTeller(t)
	ws.Close()
	const poll = 20 * time.Millisecond
	l := subscribed(t, newNode(t, c), ws.URL, poll)
	l.read(c)
	for range 3 {
		c.mine(swapped(1))
		l.read(c)
	}
	l.same(c)

	for end := time.Now().Add(10 * time.Second); l.f.Status().Errors == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the subscription that fails is not counted")
		}
	}
}
