package edge

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"tidemark/edge/render"
)

// Connections bound what clients may hold open, idle or unread.
type Connections struct {
	Connections           int `about:"open connections; idle ones make room for new ones, oldest first"`
	ConnectionsPerAddress int `about:"open connections of one address"`
	ConnectionsPerSubnet  int `about:"open connections of one /24, or /64 of IPv6"`
	UnsentBytes           int `about:"bytes of answers that wait in the kernel for one connection"`
	ReaderMinRate         int `about:"bytes a second that a client must at least read of a long answer"`
}

// MaxConnections is the most that Connections.Connections can be.
const MaxConnections = 1_000_000

// DefaultConnections returns the documented bounds. 8,192 connections have
// 160 MB of buffers. 2,048 of an address leave room for a proxy or a load test
// behind it, and 4,096 of a subnet for as many others.
func DefaultConnections() Connections {
	return Connections{
		Connections: 8192, ConnectionsPerAddress: 2048, ConnectionsPerSubnet: 4096,
		UnsentBytes: 256 << 10, ReaderMinRate: 8 << 10,
	}
}

// listener counts connections, in all, by address and by subnet, and answers
// those that are too many itself: fasthttp's own bounds answer in plain text.
// When all slots are taken, the connections that have been idle longest are
// closed instead: clients of HTTP expect that of an idle connection, and a
// flood of silent ones cannot lock the others out.
type listener struct {
	net.Listener

	mu        sync.Mutex
	bounds    Connections
	max       int // bounds.Connections, or what the descriptors of the process allow
	open      map[*conn]struct{}
	byAddress map[netip.Prefix]int
	bySubnet  map[netip.Prefix]int

	crowded, dense, full, evicted, exhausted *metrics.Counter
}

func newListener(l net.Listener, bounds Connections, set *metrics.Set) *listener {
	const refused = `tidemark_edge_connections_refused_total`
	n := &listener{
		Listener: l, bounds: bounds, max: min(bounds.Connections, descriptorCap()),
		open:      map[*conn]struct{}{},
		byAddress: map[netip.Prefix]int{}, bySubnet: map[netip.Prefix]int{},
		crowded:   set.NewCounter(refused + `{reason="address"}`),
		dense:     set.NewCounter(refused + `{reason="subnet"}`),
		full:      set.NewCounter(refused + `{reason="all"}`),
		evicted:   set.NewCounter(`tidemark_edge_connections_evicted_total`),
		exhausted: set.NewCounter(`tidemark_edge_accept_pauses_total`),
	}

	set.NewGauge(`tidemark_edge_connections_open`, func() float64 {
		n.mu.Lock()
		defer n.mu.Unlock()
		return float64(len(n.open))
	})

	return n
}

// setBounds changes what may be opened from now on; what is open stays.
func (l *listener) setBounds(b Connections) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bounds, l.max = b, min(b.Connections, descriptorCap())
}

// descriptorCap is how many connections the open-files limit allows; half of
// it stays for the stores and for connections that are being refused.
func descriptorCap() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return minConnections
	}
	return max(minConnections, int(min(limit.Cur, 1<<30)/2))
}

// Accept returns the next connection that is not one too many. Running out of
// descriptors is a pause: fasthttp would take any error for the end.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if isPassing(err) {
			l.exhausted.Inc()
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return nil, err
		}

		c := &conn{Conn: accepted, from: peerOf(accepted.RemoteAddr())}
		c.markIdle(time.Now())
		if refused := l.admit(c); refused != nil {
			go refuse(accepted, refused)
			continue
		}
		c.leave = sync.OnceFunc(func() { l.remove(c) })
		return c, nil
	}
}

// isPassing reports whether an error of Accept goes away when others close.
func isPassing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.ECONNABORTED)
}

// peer is whom a connection is counted for. Both are the zero Prefix where
// addresses say nothing, as on a unix socket: those are counted in all only.
type peer struct{ address, subnet netip.Prefix }

func peerOf(a net.Addr) peer {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return peer{}
	}

	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := 24
	if ip.Is6() {
		bits = 64
	}
	subnet, err := ip.Prefix(bits)
	if err != nil {
		return peer{}
	}
	return peer{netip.PrefixFrom(ip, ip.BitLen()), subnet}
}

// admit counts a connection, or says why it is one too many.
func (l *listener) admit(c *conn) *render.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := c.from.address.IsValid()
	switch {
	case known && l.byAddress[c.from.address] >= l.bounds.ConnectionsPerAddress:
		l.crowded.Inc()
		return render.TooMany(fmt.Sprintf("too many connections from your address; cannot exceed %d",
			l.bounds.ConnectionsPerAddress), refusedRetry)
	case known && l.bySubnet[c.from.subnet] >= l.bounds.ConnectionsPerSubnet:
		l.dense.Inc()
		return render.TooMany(fmt.Sprintf("too many connections from your network; cannot exceed %d",
			l.bounds.ConnectionsPerSubnet), refusedRetry)
	case len(l.open) >= l.max && !l.evict():
		l.full.Inc()
		return render.Unavailable("too many connections", refusedRetry)
	}

	l.open[c] = struct{}{}
	c.minRate = l.bounds.ReaderMinRate
	if known {
		l.byAddress[c.from.address]++
		l.bySubnet[c.from.subnet]++
		l.boundUnsent(c)
	}
	return nil
}

// boundUnsent bounds what the kernel keeps of answers that a client does not
// read: bounds.UnsentBytes for a connection, and less for each when an address
// has so many that they would pass unsentPerAddress together.
func (l *listener) boundUnsent(c *conn) {
	share := unsentPerAddress / l.byAddress[c.from.address]
	socket := c.Conn
	if secure, ok := socket.(*tls.Conn); ok {
		socket = secure.NetConn()
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		// A connection that cannot be bounded is cut by its deadlines alone.
		_ = tcp.SetWriteBuffer(max(minUnsent, min(l.bounds.UnsentBytes, share)))
	}
}

// evict closes the connections that have been idle longest and reports whether
// there was one. Looking at all of them is worth it only for several at once.
func (l *listener) evict() bool {
	var idle []*conn
	for c := range l.open {
		if c.idleSince.Load() != 0 {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *conn) int {
		return int(min(max(a.idleSince.Load()-b.idleSince.Load(), -1), 1))
	})

	idle = idle[:min(len(idle), evictBatch)]
	for _, c := range idle {
		l.forget(c)
		l.evicted.Inc()
		// Its serving goroutine sees the end and closes the rest.
		c.Conn.Close()
	}
	return len(idle) > 0
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
}

// forget takes a connection out of the counts, once.
func (l *listener) forget(c *conn) {
	if _, counted := l.open[c]; !counted {
		return
	}
	delete(l.open, c)
	if !c.from.address.IsValid() {
		return
	}

	if l.byAddress[c.from.address]--; l.byAddress[c.from.address] == 0 {
		delete(l.byAddress, c.from.address)
	}
	if l.bySubnet[c.from.subnet]--; l.bySubnet[c.from.subnet] == 0 {
		delete(l.bySubnet, c.from.subnet)
	}
}

// track keeps since when a connection waits for a request; fasthttp calls it
// twice a request.
func track(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case fasthttp.StateActive:
		c.idleSince.Store(0)
	case fasthttp.StateIdle:
		c.markIdle(time.Now())
	}
}

// refuse answers a connection without reading from it, and closes it.
func refuse(c net.Conn, e *render.Error) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(refuseTimeout)) != nil {
		return
	}
	body := e.AppendBody(nil)
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nRetry-After: %d\r\nConnection: close\r\n\r\n%s",
		e.Code, fasthttp.StatusMessage(e.Code), len(body), max(1, e.RetryAfter()), body)
}
