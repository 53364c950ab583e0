package natstest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to a server until it is cut. What is sent then is held back
// and nobody is told, as in a network that is partitioned.
type Proxy struct {
	target   string
	listener net.Listener
	cut      atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

// NewProxy starts a proxy to the address of a server. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	p := &Proxy{target: u.Host, listener: l}
	go p.accept()
	t.Cleanup(func() {
		l.Close()
		p.drop()
	})
	return p
}

// URL is the address for clients.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// Cut holds back everything from now on.
func (p *Proxy) Cut() { p.cut.Store(true) }

// Heal lets new connections pass again. Those that were cut are closed.
func (p *Proxy) Heal() {
	p.drop()
	p.cut.Store(false)
}

func (p *Proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go p.copy(server, client)
		go p.copy(client, server)
	}
}

// holdPause is how often a connection that is cut looks whether it was closed.
const holdPause = 10 * time.Millisecond

// copy passes on what comes, except while the proxy is cut: then it waits for the end.
func (p *Proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}

		for p.cut.Load() {
			time.Sleep(holdPause)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
