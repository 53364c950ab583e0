package endpoint

import (
	"context"
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
		return notifier.Notify(sub.ID, map[string]string{"number": "0x1"})
	})
	return sub, nil
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
