package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage"
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
		n := emptyNode(t)
		books, err := storage.OpenAccounts(n.dataPath(accountsDir), storage.AccountsOptions{Logger: n.log})
		if err != nil {
			t.Fatal(err)
		}
		defer books.Close()
		if n.registry, err = registry.Open(books, n.Plans, time.Now()); err != nil {
			t.Fatal(err)
		}
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

// addressOnly is a listener that nobody connects to.
type addressOnly struct {
	net.Listener
	address string
}

func (a addressOnly) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(a.address), Port: 8080} }
