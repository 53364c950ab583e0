package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// emptyNode is a node of which nothing has started.
func emptyNode(t *testing.T) *node {
	t.Helper()
	l, err := loadText(t, "")
	if err != nil {
		t.Fatal(err)
	}
	l.Data = t.TempDir()
	return &node{loaded: l, log: slog.New(slog.DiscardHandler), set: metrics.NewSet(), failed: make(chan error, 2)}
}

// nodeWithAccounts is an empty node that has opened its accounts.
func nodeWithAccounts(t *testing.T) *node {
	t.Helper()
	n := emptyNode(t)
	books, err := accountstore.Open(n.dataPath(accountsDir), accountstore.Options{Logger: n.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { books.Close() })
	if n.registry, err = registry.Open(books, n.Plans, time.Now()); err != nil {
		t.Fatal(err)
	}
	return n
}

// Where no key can be issued the banner says how to get one.
func TestKeyAdvice(t *testing.T) {
	n := nodeWithAccounts(t)
	n.printsKey, n.url = true, "http://node"
	if got := n.keyAdvice(); got != "\nTo get an API key: tidemark keys issue --account demo\n\n" {
		t.Errorf("without the account it says %q", got)
	}

	if _, err := n.registry.CreateDemo(); err != nil {
		t.Fatal(err)
	}
	if got := n.keyAdvice(); !strings.Contains(got, "shown this once: tm_srv_") ||
		!strings.Contains(got, `"http://node/v1/positions?limit=1"`) {
		t.Errorf("with a key it says %q", got)
	}
}

// The command of the banner is one that curl takes.
func TestCurlOf(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		if got := curlOf(address, "tm"); got != want {
			t.Errorf("%s: %s; want %s", address, got, want)
		}
	}
	f("https://a.example:8443", `curl -H "KC-APIKey: tm" "https://a.example:8443/v1/positions?limit=1"`)
	f("unix:/run/a b.sock",
		`curl --unix-socket '/run/a b.sock' -H "KC-APIKey: tm" "http://localhost/v1/positions?limit=1"`)
}

// A name that a server would leave out of a path is refused before it is asked.
func TestCheckNames(t *testing.T) {
	f := func(name string, ok bool) {
		t.Helper()
		if err := checkNames(accountPath(name) + "/plan?month="); (err == nil) != ok {
			t.Errorf("account %q: %v", name, err)
		}
	}

	f("acme", true)
	f("a/b", true)
	f("a.b", true)
	f("...", true)
	for _, name := range []string{"", ".", "..", "/", "./", "../.."} {
		f(name, false)
	}
	if err := checkNames("/accounts/"); err == nil || err.Error() != `"" is no name of an account or a key` {
		t.Errorf("an empty name: %v", err)
	}
}

// A part in the background ends when the node stops, which waits for it.
func TestBackgroundEnds(t *testing.T) {
	n, ended := emptyNode(t), false
	n.background("sleeper", func(ctx context.Context) {
		<-ctx.Done()
		time.Sleep(time.Millisecond)
		ended = true
	})
	if err := n.stop(); err != nil || len(n.parts) != 1 || !ended {
		t.Errorf("after the stop the part has ended: %t, %v", ended, err)
	}
}

// A listener that ends by itself ends the node, and one that was shut down does not.
func TestListenerEnds(t *testing.T) {
	f := func(ends error, want string) {
		t.Helper()
		n, served := emptyNode(t), make(chan bool)
		n.serveListener("API", nil, func(net.Listener) error {
			defer close(served)
			return ends
		}, func(context.Context) error { return nil })
		<-served
		var got string
		select {
		case err := <-n.failed:
			got = err.Error()
		case <-time.After(50 * time.Millisecond):
		}
		if got != want {
			t.Errorf("a listener that ends with %v: the node fails with %q; want %q", ends, got, want)
		}
	}

	f(nil, "")
	f(http.ErrServerClosed, "")
	f(errors.New("accept: too many open files"), "API: accept: too many open files")
}

// The market store gives way to requests, and is measured and logged.
func TestStoreOptions(t *testing.T) {
	n := emptyNode(t)
	o := n.storeOptions()
	if o.Metrics != n.set || o.Logger != n.log || o.Rebuild == nil || o.Requests == nil {
		t.Fatalf("%+v", o)
	}
	n.board.NoteRequest()
	if got := o.Requests(); got != 1 {
		t.Errorf("the store knows of %d requests; want 1", got)
	}
}

// The first key is printed on a terminal, and only while nobody else can reach the
// node.
func TestFirstKeyIsPrinted(t *testing.T) {
	_, theirs := terminal(t)
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()

	f := func(out *os.File, address string, again, want bool) {
		t.Helper()
		n := nodeWithAccounts(t)
		n.apiListener, os.Stdout = addressOnly{address: address}, out
		for range 2 {
			if err := n.makeFirstAccount(); err != nil {
				t.Fatal(err)
			}
			if !again {
				break
			}
		}
		if os.Stdout = stdout; n.printsKey != want {
			t.Errorf("on %s, with another start: %t: the key is printed: %t", address, again, n.printsKey)
		}
	}

	f(theirs, "127.0.0.1", false, true)
	f(theirs, "::1", false, true)
	f(theirs, "0.0.0.0", false, false)
	f(theirs, "192.0.2.1", false, false)
	f(file, "127.0.0.1", false, false)
	f(theirs, "127.0.0.1", true, false)
}

// A key that was printed is for this machine: while it is active, the node does not serve
// others. Without one the node says how to get a key.
func TestPrintedKeyIsLocal(t *testing.T) {
	n := nodeWithAccounts(t)
	serves := func(address, want string) {
		t.Helper()
		n.apiListener = addressOnly{address: address}
		err := n.makeFirstAccount()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("on %s: %v; want %q", address, err, want)
		}
	}

	serves("127.0.0.1", "")
	advice := "\nTo get an API key: tidemark keys issue --account demo"
	if got := n.keyAdvice(); !strings.HasPrefix(got, advice) {
		t.Errorf("it says %q; want %q", got, advice)
	}
	serves("192.0.2.1", "")

	n.printsKey, n.url = true, "http://there"
	got := n.keyAdvice()
	key := keyPattern.FindString(got)
	if key == "" || strings.Count(got, key) != 2 || !strings.Contains(got, ` "http://there/v1/positions?limit=1"`) {
		t.Errorf("it says %q; want a key, and how to use it", got)
	}
	serves("127.0.0.1", "")
	serves("192.0.2.1", "cannot serve on 192.0.2.1:8080: key_1, the key that was printed at the first start, is active")
}

// A node remembers how many nodes its cluster has, once.
func TestRememberedNodes(t *testing.T) {
	n := emptyNode(t)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: n.log})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	other := storage.Pair{Name: "sim.days", Value: "9"}
	if err := store.SetIdentity([]storage.Pair{other}); err != nil {
		t.Fatal(err)
	}

	n.store = store
	for _, nodes := range []int64{3, 5} {
		if err := n.rememberNodes(nodes); err != nil {
			t.Fatal(err)
		}
		want := []storage.Pair{{Name: nodesName, Value: fmt.Sprint(nodes)}, other} // by their names
		if got := store.Identity(); !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	}
}

// A node is for its own machine on a loopback address and on a socket of a file.
func TestLocalAddresses(t *testing.T) {
	f := func(a net.Addr, want bool) {
		t.Helper()
		if got := isLocal(a); got != want {
			t.Errorf("%s is local: %t; want %t", a, got, want)
		}
	}

	f(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true)
	f(&net.TCPAddr{IP: net.IPv6loopback}, true)
	f(&net.TCPAddr{IP: net.IPv4zero}, false)
	f(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, false)
	f(&net.UnixAddr{Name: "/run/tidemark.sock", Net: "unix"}, true)
}

// addressOnly is a listener that nobody connects to.
type addressOnly struct {
	net.Listener
	address string
}

func (a addressOnly) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(a.address), Port: 8080} }
