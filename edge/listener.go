package edge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// Connections bounds the connections of clients.
type Connections struct {
	Connections           int `about:"open connections; beyond that, those idle longest are closed"`
	ConnectionsPerAddress int `about:"open connections per client address"`
	ConnectionsPerSubnet  int `about:"open connections per /24, or /64 for IPv6"`
	UnsentBytes           int `about:"bytes of unread answers that the kernel buffers per connection"`
	ReaderMinRate         int `about:"bytes per second at which clients must read long answers"`
}

// MaxConnections is the most that Connections.Connections can be.
const MaxConnections = 1_000_000

// DefaultConnections returns the documented bounds. The buffers of 8,192
// connections take 160 MB. 2,048 connections per address are enough for a proxy
// or a load test, and the subnet has room for a second one.
func DefaultConnections() Connections {
	return Connections{
		Connections: 8192, ConnectionsPerAddress: 2048, ConnectionsPerSubnet: 4096,
		UnsentBytes: 256 << 10, ReaderMinRate: 8 << 10,
	}
}

// listener limits connections in total, per address and per subnet. It answers
// refused connections itself, because fasthttp's own limits answer in plain text.
// When the total is reached, it closes the connections that have been idle
// longest. HTTP clients expect that of an idle connection, and so a flood of
// silent connections cannot lock others out.
type listener struct {
	net.Listener

	mu        sync.Mutex
	bounds    Connections
	max       int // bounds.Connections, or what the descriptors of the process allow
	open      map[*conn]struct{}
	byAddress map[netip.Prefix]int
	bySubnet  map[netip.Prefix]int

	refusedAddress, refusedSubnet, refusedAll, evicted, acceptPauses *metrics.Counter
}

func newListener(l net.Listener, bounds Connections, set *metrics.Set) *listener {
	const refused = `tidemark_edge_connections_refused_total`
	n := &listener{
		Listener: l, bounds: bounds, max: min(bounds.Connections, descriptorCap()),
		open:      map[*conn]struct{}{},
		byAddress: map[netip.Prefix]int{}, bySubnet: map[netip.Prefix]int{},
		refusedAddress: set.NewCounter(refused + `{reason="address"}`),
		refusedSubnet:  set.NewCounter(refused + `{reason="subnet"}`),
		refusedAll:     set.NewCounter(refused + `{reason="all"}`),
		evicted:        set.NewCounter(`tidemark_edge_connections_evicted_total`),
		acceptPauses:   set.NewCounter(`tidemark_edge_accept_pauses_total`),
	}

	set.NewGauge(`tidemark_edge_connections_open`, func() float64 {
		n.mu.Lock()
		defer n.mu.Unlock()
		return float64(len(n.open))
	})

	return n
}

// setBounds changes the bounds of connections to come; open ones stay.
func (l *listener) setBounds(b Connections) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bounds, l.max = b, min(b.Connections, descriptorCap())
}

// descriptorCap returns how many connections the open-files limit allows.
func descriptorCap() int {
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // without an answer it is minConnections
	return connectionsOf(limit.Cur)
}

// connectionsOf returns how many of the files that may be open may be connections. Half
// of them, at most otherFiles, are left for the stores and for connections that are
// being refused.
func connectionsOf(files uint64) int {
	files = min(files, 1<<30) // it may be "unlimited"
	return int(max(minConnections, files-min(files/2, otherFiles)))
}

// Accept returns the next connection within the bounds. When descriptors run out
// it pauses and retries, since any error would make fasthttp stop serving.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if isTemporary(err) {
			l.acceptPauses.Inc()
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return nil, err
		}

		c := &conn{Conn: accepted, socket: newSocket(accepted), peer: peerOf(accepted.RemoteAddr())}
		c.markIdle(time.Now())
		if refused := l.admit(c); refused != nil {
			go refuseConnection(accepted, refused)
			continue
		}
		c.onClose = sync.OnceFunc(func() { l.remove(c) })
		return c, nil
	}
}

// isTemporary reports whether Accept may succeed after a pause.
func isTemporary(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.ECONNABORTED)
}

// peer is the address and subnet that a connection is counted for. Both are the
// zero Prefix when there is no IP address, as on a unix socket. Such connections
// count only towards the total.
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

// admit counts a connection, or returns why it is refused.
func (l *listener) admit(c *conn) *render.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := c.peer.address.IsValid()
	switch {
	case known && l.byAddress[c.peer.address] >= l.bounds.ConnectionsPerAddress:
		l.refusedAddress.Inc()
		return render.TooMany(fmt.Sprintf("too many connections from your address; cannot exceed %d",
			l.bounds.ConnectionsPerAddress), refusedRetry)
	case known && l.bySubnet[c.peer.subnet] >= l.bounds.ConnectionsPerSubnet:
		l.refusedSubnet.Inc()
		return render.TooMany(fmt.Sprintf("too many connections from your network; cannot exceed %d",
			l.bounds.ConnectionsPerSubnet), refusedRetry)
	case len(l.open) >= l.max && !l.evictIdle():
		l.refusedAll.Inc()
		return render.Unavailable("too many connections", refusedRetry)
	}

	l.open[c] = struct{}{}
	c.minRate = l.bounds.ReaderMinRate
	if known {
		l.byAddress[c.peer.address]++
		l.bySubnet[c.peer.subnet]++
		l.limitUnsent(c)
	}
	return nil
}

// limitUnsent bounds the unread data that the kernel buffers for a connection:
// bounds.UnsentBytes, or less when the connections of its address would exceed
// unsentPerAddress together.
func (l *listener) limitUnsent(c *conn) {
	share := unsentPerAddress / l.byAddress[c.peer.address]
	if tcp, ok := socketOf(c.Conn).(*net.TCPConn); ok {
		// If this fails, the write deadlines still end a slow connection.
		_ = tcp.SetWriteBuffer(max(minUnsent, min(l.bounds.UnsentBytes, share)))
	}
}

// evictIdle closes the connections that have been idle longest and reports
// whether there was any. It closes several, since it has to visit all of them.
func (l *listener) evictIdle() bool {
	var idle []*conn
	for c := range l.open {
		if c.idleSince.Load() > 0 {
			idle = append(idle, c)
		}
	}
	slices.SortFunc(idle, func(a, b *conn) int {
		return cmp.Compare(a.idleSince.Load(), b.idleSince.Load())
	})

	closed := 0
	for _, c := range idle[:min(len(idle), evictBatch)] {
		if c.closeIdle() {
			closed++
			l.uncount(c)
			l.evicted.Inc()
		}
	}
	return closed > 0
}

// Close stops accepting and closes the connections that wait for a request.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	open := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()

	for _, c := range open {
		if c.closeIdle() {
			l.remove(c)
		}
	}
	return err
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uncount(c)
}

// uncount removes a connection from the counts. Further calls do nothing.
func (l *listener) uncount(c *conn) {
	if _, counted := l.open[c]; !counted {
		return
	}
	delete(l.open, c)
	if !c.peer.address.IsValid() {
		return
	}

	if l.byAddress[c.peer.address]--; l.byAddress[c.peer.address] == 0 {
		delete(l.byAddress, c.peer.address)
	}
	if l.bySubnet[c.peer.subnet]--; l.bySubnet[c.peer.subnet] == 0 {
		delete(l.bySubnet, c.peer.subnet)
	}
}

// trackIdle records when a connection begins to wait for a request. fasthttp
// calls it twice per request. It takes a new connection for active before its
// first byte, so that only claim ends the wait.
func trackIdle(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case fasthttp.StateActive:
		c.serving.Store(true)
	case fasthttp.StateIdle:
		c.serving.Store(false)
		c.limited = false
		c.markIdle(time.Now())
	}
}

// refuseConnection answers a connection without reading its request, and closes
// it.
func refuseConnection(c net.Conn, e *render.Error) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(refuseTimeout)) != nil {
		return
	}
	body := e.AppendBody(nil)
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nRetry-After: %d\r\nConnection: close\r\n\r\n%s",
		e.Code, fasthttp.StatusMessage(e.Code), len(body), max(1, e.RetryAfter()), body)
}
