package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	geth "github.com/ethereum/go-ethereum/rpc"
)

// headNode is a node that tells of heads over a websocket.
type headNode struct {
	*httptest.Server
	mu      sync.Mutex
	rpc     *geth.Server
	handler http.Handler
	tell    []func() error
	chain   string // the answer to eth_chainId; empty: an error
	extra   int    // bytes in every head beside its number
}

func (n *headNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	h := n.handler
	n.mu.Unlock()
	h.ServeHTTP(w, r)
}

// restart ends every connection and takes new ones.
func (n *headNode) restart(t *testing.T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rpc != nil {
		n.rpc.Stop()
	}
	n.rpc, n.tell = geth.NewServer(), nil
	if err := n.rpc.RegisterName("eth", n); err != nil {
		t.Fatal(err)
	}
	n.handler = n.rpc.WebsocketHandler([]string{"*"})
}

// NewHeads is eth_subscribe("newHeads").
func (n *headNode) NewHeads(ctx context.Context) (*geth.Subscription, error) {
	notifier, ok := geth.NotifierFromContext(ctx)
	if !ok {
		return nil, geth.ErrNotificationsUnsupported
	}
	sub := notifier.CreateSubscription()
	n.mu.Lock()
	defer n.mu.Unlock()

	n.tell = append(n.tell, func() error {
		head := map[string]string{"number": "0x1"}
		if n.extra > 0 {
			head["extraData"] = strings.Repeat("7", n.extra)
		}
		return notifier.Notify(sub.ID, head)
	})
	return sub, nil
}

// ChainId is eth_chainId.
func (n *headNode) ChainId() (string, error) {
	if n.chain == "" {
		return "", errors.New("not now")
	}
	return n.chain, nil
}

// head tells every subscriber of a head.
func (n *headNode) head() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, tell := range n.tell {
		_ = tell()
	}
}

func newHeadNode(t *testing.T) *headNode {
	n := new(headNode)
	n.restart(t)
	n.Server = httptest.NewServer(n)
	t.Cleanup(func() { n.restart(t); n.Close() })
	return n
}

func (n *headNode) url() string { return "ws" + strings.TrimPrefix(n.URL, "http") + "/s3cret-key" }

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never %s", what)
		}
	}
}

// run subscribes until the test ends.
func run(t *testing.T, url string, failed func(error)) (*HeadStream, chan struct{}) {
	t.Helper()
	wake := make(chan struct{}, 1)
	s, err := NewHeadStream("heads", url, Clock{}, func(string, []byte) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { s.Run(ctx, func() float64 { return 0 }, failed) })
	t.Cleanup(func() { cancel(); work.Wait() })
	return s, wake
}

// A head wakes whoever waits for it; a connection that ends is made again.
func TestHeadStream(t *testing.T) {
	n := newHeadNode(t)
	var mu sync.Mutex
	var failures []error
	s, wake := run(t, n.url(), func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, err)
	})

	if s.Name != "heads" {
		t.Errorf("it is named %q", s.Name)
	}
	await(t, "live", s.Live)
	for range 3 {
		n.head()
		select {
		case <-wake:
		case <-time.After(10 * time.Second):
			t.Fatal("a head woke nobody")
		}
	}

	n.restart(t)
	await(t, "told of the end", func() bool { mu.Lock(); defer mu.Unlock(); return len(failures) > 0 })
	await(t, "live again", s.Live)
	await(t, "subscribed again", func() bool { n.mu.Lock(); defer n.mu.Unlock(); return len(n.tell) > 0 })
	n.head()
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		t.Fatal("a head woke nobody after the connection had ended")
	}

	mu.Lock()
	defer mu.Unlock()
	for _, err := range failures {
		if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the error names the address: %v", err)
		}
	}
}

// What is no websocket of heads is never live.
func TestHeadStreamRefused(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	told := make(chan error, 100)
	s, _ := run(t, "ws"+strings.TrimPrefix(refusing.URL, "http"), func(err error) {
		select {
		case told <- err:
		default:
		}
	})

	if err := <-told; err == nil || s.Live() {
		t.Errorf("live %v, %v", s.Live(), err)
	}
	for _, url := range []string{"http://127.0.0.1:1", "ws://", "::"} {
		if _, err := NewHeadStream("heads", url, Clock{}, nil); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}

// A head comes with the chain that the node names over the same connection, or without one.
func TestHeadsNameTheirChain(t *testing.T) {
	f := func(chain string) {
		t.Helper()
		n := newHeadNode(t)
		n.chain = chain
		told := make(chan string, 1)
		s, err := NewHeadStream("heads", n.url(), Clock{}, func(chain string, header []byte) {
			told <- fmt.Sprintf("%s %s", chain, header)
		})
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { s.Run(ctx, func() float64 { return 0 }, func(error) {}) })
		await(t, "live", s.Live)
		n.head()
		if got, want := <-told, chain+` {"number":"0x1"}`; got != want {
			t.Errorf("told of %s; want %s", got, want)
		}
		cancel()
		work.Wait()
	}

	f("0xa4b1")
	f("")
}

// blind is a node without subscriptions.
type blind struct{}

// BlockNumber is eth_blockNumber.
func (blind) BlockNumber() string { return "0x1" }

// The pauses between failures grow until a head comes. A node without heads is one that
// fails, and between two connections nothing is live.
func TestHeadStreamPauses(t *testing.T) {
	n := newHeadNode(t)
	good := n.handler
	heads := make(chan struct{}, 1)
	paused, goOn := make(chan time.Duration), make(chan struct{})
	clock := Clock{Sleep: func(ctx context.Context, d time.Duration) error {
		paused <- d
		<-goOn
		return ctx.Err()
	}}
	s, err := NewHeadStream("heads", n.url(), clock, func(string, []byte) { heads <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var failed []error
	over := make(chan struct{})
	f := func(failures int, use http.Handler, want string) {
		t.Helper()
		got := <-paused
		last := failed[len(failed)-1].Error()
		if got != Pause(failures, 0.5) || s.Live() || !strings.Contains(last, want) {
			t.Errorf("after %d failures, the last %q, a pause of %s, live %t; want %q, %s", failures, last, got,
				s.Live(), want, Pause(failures, 0.5))
		}
		n.mu.Lock()
		n.handler = use
		n.mu.Unlock()
		goOn <- struct{}{}
	}

	n.handler = http.NotFoundHandler()
	go func() {
		defer close(over)
		s.Run(ctx, func() float64 { return 0.5 }, func(err error) { failed = append(failed, err) })
	}()
	without := geth.NewServer()
	defer without.Stop()
	if err := without.RegisterName("eth", blind{}); err != nil {
		t.Fatal(err)
	}
	f(1, n.handler, "bad handshake")
	f(2, without.WebsocketHandler([]string{"*"}), "bad handshake")
	f(3, good, `no "newHeads" subscription`)

	await(t, "live", s.Live)
	n.restart(t) // before any head
	f(4, n.handler, "")
	await(t, "live again", s.Live)
	n.head()
	<-heads
	n.restart(t)
	f(1, n.handler, "")

	await(t, "live at last", s.Live)
	cancel()
	<-over
	if len(failed) != 5 {
		t.Errorf("%d failures are told; want 5, and none of the end", len(failed))
	}
}

// A head that is far too large ends the connection, and is not kept.
func TestLargeHead(t *testing.T) {
	n := newHeadNode(t)
	n.extra = maxTold
	failed := make(chan error, 1)
	s, wake := run(t, n.url(), func(err error) {
		select {
		case failed <- err:
		default:
		}
	})
	await(t, "live", s.Live)
	n.head()

	select {
	case err := <-failed:
		if err == nil || len(wake) > 0 {
			t.Errorf("%v, told %d times", err, len(wake))
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a head of a megabyte is taken")
	}
}
