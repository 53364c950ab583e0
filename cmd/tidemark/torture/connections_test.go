package torture

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/bench/process"
)

const (
	// fewFiles is the open-files limit of the node.
	fewFiles = 512
	// floodAddresses are loopback addresses that connections come from.
	floodAddresses = 8
	slowReaders    = 300
	// newcomerWithin is how long a new client may wait for its first answer.
	newcomerWithin = time.Second
	// unsentBound is what the kernel may hold for slow readers of one address: the
	// bound per address, which it doubles for its own needs, and what was on its way.
	unsentBound = 160 << 20
)

// TestConnections opens many more silent connections than a node has descriptors
// for, from several addresses, and then hundreds of clients that ask for long answers
// and never read, again and again. A new client is answered within a second all the
// while, nothing but idle connections is closed, and the kernel holds little. Then
// every descriptor and goroutine is given back.
func TestConnections(t *testing.T) {
	cycles := share(t, 2, 20)
	n := newNode(t, smallMarket+"[limits]\nconnections-per-address = 100\n")
	limited := filepath.Join(t.TempDir(), "limited")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", fewFiles, n.binary)
	if err := os.WriteFile(limited, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	n.binary = limited
	n.start()
	key := n.customer("acme", "unlimited")

	var w crowd
	end := make(chan struct{})
	clients := w.ask(n.address(), key, 4, end)
	f := &flood{node: n, key: key}
	f.checkNewcomer()
	sockets, goroutines := f.settled(0, 0)
	for range cycles {
		f.connectSilently(2 * fewFiles)
		f.checkNewcomer()
		f.closeAll()
		f.connectUnread(slowReaders)
		f.checkNewcomer()
		f.closeAll()
	}
	sockets2, goroutines2 := f.settled(sockets, goroutines)
	close(end)
	clients.Wait()

	w.check(t)
	if w.unanswered > 0 {
		t.Errorf("%d requests of busy connections were not answered", w.unanswered)
	}
	if sockets2 > sockets || goroutines2 > goroutines {
		t.Errorf("%.0f sockets and %.0f goroutines are left; before there were %.0f and %.0f",
			sockets2, goroutines2, sockets, goroutines)
	}
	figure(t, "%d floods of %d silent connections and %d slow readers with %d descriptors: the slowest new client was "+
		"answered after %s; %d idle connections evicted, %d pauses of accepting; the kernel held at most %d MB; %d "+
		"answers to busy connections, all whole; sockets %.0f -> %.0f, goroutines %.0f -> %.0f",
		cycles, 2*fewFiles, slowReaders, fewFiles, f.slowest.Round(time.Millisecond),
		int64(n.counter("tidemark_edge_connections_evicted_total")),
		int64(n.counter("tidemark_edge_accept_pauses_total")), f.held>>20, w.answers,
		sockets, sockets2, goroutines, goroutines2)
	n.stop()
}

// flood is connections that do not behave.
type flood struct {
	*node
	key     string
	open    []net.Conn
	slowest time.Duration
	held    int64 // bytes that the kernel held at most
}

// connect opens a connection from one of the addresses.
func (f *flood) connect(number int) net.Conn {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+number%floodAddresses), 1)}
	d := net.Dialer{LocalAddr: from, Timeout: 5 * time.Second}
	c, err := d.Dial("tcp", f.address())
	if err != nil {
		return nil // the backlog is full: nothing is held
	}
	return c
}

func (f *flood) connectSilently(many int) {
	for i := range many {
		if c := f.connect(i); c != nil {
			f.open = append(f.open, c)
		}
	}
}

// connectUnread opens connections that ask for many long answers and read nothing.
func (f *flood) connectUnread(many int) {
	request := []byte(fmt.Sprintf("GET /v1/positions?limit=100&status=all HTTP/1.1\r\nHost: x\r\nKC-APIKey: %s\r\n\r\n", f.key))
	before := kernelMemory()
	var all sync.WaitGroup
	for i := range many {
		c := f.connect(0)
		if c == nil {
			continue
		}
		f.open = append(f.open, c)
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetReadBuffer(4 << 10)
		}
		if i%10 == 0 {
			f.checkNewcomer()
		}
		all.Go(func() {
			c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
			for range 100 {
				if _, err := c.Write(request); err != nil {
					return
				}
			}
		})
	}
	all.Wait()

	held := kernelMemory() - before
	if f.held = max(f.held, held); held > unsentBound {
		f.t.Errorf("the kernel holds %d MB for slow readers; cannot exceed %d", held>>20, unsentBound>>20)
	}
}

// kernelMemory is what the kernel holds for all TCP connections, in bytes.
func kernelMemory() (bytes int64) {
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0
	}
	_, tcp, _ := strings.Cut(string(text), "TCP:")
	_, pages, _ := strings.Cut(tcp, " mem ")
	fmt.Sscan(pages, &bytes)
	return bytes * int64(os.Getpagesize())
}

// checkNewcomer has a new client ask, from an address that has no other connection.
func (f *flood) checkNewcomer() {
	f.t.Helper()
	began := time.Now()
	busy := process.ReadMachine().Busy
	c, err := dial(f.address(), f.key)
	var a reply
	if err == nil {
		defer c.close()
		a, err = c.ask("/v1/pools?limit=1")
	}

	took := time.Since(began)
	if err != nil || a.status != 200 || took > newcomerWithin {
		f.t.Errorf("a new client was answered %d %v after %s (%s of CPU were used meanwhile): %s", a.status, err, took,
			process.ReadMachine().Busy-busy, a.body)
	}
	f.slowest = max(f.slowest, took)
}

func (f *flood) closeAll() {
	for _, c := range f.open {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	f.open = nil
}

// settled waits until the node has given back what it used for a flood, and returns
// its sockets and goroutines.
func (f *flood) settled(wantSockets, wantGoroutines float64) (sockets, goroutines float64) {
	f.t.Helper()
	for range 300 { // workers of connections end after ten idle seconds
		single.CloseIdleConnections() // our own
		time.Sleep(100 * time.Millisecond)
		sockets, _ = descriptors(f.t, f.cmd.Process.Pid)
		goroutines = f.counter("go_goroutines")
		if wantSockets == 0 || sockets <= wantSockets && goroutines <= wantGoroutines {
			break
		}
	}
	return sockets, goroutines
}
