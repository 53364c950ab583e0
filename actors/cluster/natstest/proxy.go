package natstest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy passes connections on to a server, until it is cut.
type Proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	held  bool
	conns []net.Conn
	mark  []byte // see Flip
	after int
}

// NewProxy starts a proxy in front of a server. It ends with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	p := &Proxy{listener: l, to: u.Host}
	t.Cleanup(func() {
		p.Cut()
		l.Close()
	})
	go p.accept()
	return p
}

// URL returns the address for clients.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// Cut ends all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Hold keeps what is sent and tells nobody, as a network does that is partitioned.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// Heal accepts connections again, and passes on what was held.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.held = false, false
}

// holdPause is how often a connection that is held looks whether it is still.
const holdPause = 10 * time.Millisecond

func (p *Proxy) awaitHeal() {
	for {
		p.mu.Lock()
		held := p.held && !p.cut
		p.mu.Unlock()
		if !held {
			return
		}
		time.Sleep(holdPause)
	}
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}

		to, err := net.Dial("tcp", p.to)
		if err != nil || !p.keep(from, to) {
			from.Close()
			continue
		}
		go p.pass(to, from)
		go p.pass(from, to)
	}
}

// keep notes a connection, or reports that the proxy is cut.
func (p *Proxy) keep(from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		to.Close()
		return false
	}
	p.conns = append(p.conns, from, to)
	return true
}

// Flip flips a bit so many bytes after every mark that comes from the server. No mark:
// none is flipped.
func (p *Proxy) Flip(mark string, after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark, p.after = []byte(mark), after
}

// damage flips what Flip says in bytes that are passed on.
func (p *Proxy) damage(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mark) == 0 {
		return
	}

	for from := 0; ; {
		at := bytes.Index(b[from:], p.mark)
		if at < 0 {
			return
		}
		from += at + len(p.mark)
		if flip := from + p.after; flip < len(b) {
			b[flip] ^= 4
		}
	}
}

// pass copies what comes from one side, and ends both when it ends.
func (p *Proxy) pass(to, from net.Conn) {
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		p.awaitHeal()
		p.damage(buffer[:n])
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			break
		}
	}
	to.Close()
	from.Close()
}
