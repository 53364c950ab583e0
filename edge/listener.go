package edge

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
)

// listener counts connections, in all and by address, and answers those that
// are too many itself: fasthttp's own bounds answer in plain text and know no
// IPv6, where an address is a /64.
type listener struct {
	net.Listener
	max, maxPerAddress int

	mu        sync.Mutex
	open      int
	byAddress map[netip.Prefix]int

	crowded, full *metrics.Counter
}

func newListener(l net.Listener, set *metrics.Set) *listener {
	n := &listener{
		Listener: l, max: maxConnections, maxPerAddress: maxConnectionsPerAddress,
		byAddress: map[netip.Prefix]int{},
		crowded:   set.NewCounter(`tidemark_edge_connections_refused_total{reason="address"}`),
		full:      set.NewCounter(`tidemark_edge_connections_refused_total{reason="all"}`),
	}
	set.NewGauge(`tidemark_edge_connections_open`, func() float64 {
		n.mu.Lock()
		defer n.mu.Unlock()
		return float64(n.open)
	})
	return n
}

// Accept returns the next connection that is not too many.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c.RemoteAddr())
		if refused := l.enter(from); refused != nil {
			go refuse(c, refused)
			continue
		}
		return &conn{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
	}
}

// addressOf is what connections are counted by: an IPv4 address, an IPv6 /64,
// or the zero Prefix for a listener without addresses.
func addressOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

func (l *listener) enter(from netip.Prefix) *render.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.byAddress[from] >= l.maxPerAddress:
		l.crowded.Inc()
		return render.TooMany(fmt.Sprintf("too many connections from your address; cannot exceed %d",
			l.maxPerAddress), refusedRetry)
	case l.open >= l.max:
		l.full.Inc()
		return render.Unavailable("too many connections", refusedRetry)
	}
	l.open++
	l.byAddress[from]++
	return nil
}

func (l *listener) leave(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.byAddress[from]--; l.byAddress[from] == 0 {
		delete(l.byAddress, from)
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
