package edge

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

// fakeListener is a listener whose connections come from a test.
type fakeListener struct {
	net.Listener
	accept chan func() (net.Conn, error)
}

func (s *fakeListener) Accept() (net.Conn, error) { return (<-s.accept)() }

// fakeConn is one end of a pipe with a remote address.
type fakeConn struct {
	net.Conn
	addr net.Addr
}

func (f fakeConn) RemoteAddr() net.Addr { return f.addr }

// dialler connects to a listener from made-up addresses.
type dialler struct {
	t *testing.T
	*listener
	accept chan func() (net.Conn, error)
}

func newDialler(t *testing.T, bounds Connections) *dialler {
	accept := make(chan func() (net.Conn, error), 1)
	return &dialler{t, newListener(&fakeListener{accept: accept}, bounds, metrics.NewSet()), accept}
}

// dial connects from an address. It returns both ends of an accepted connection,
// or the text that a refused one was sent.
func (d *dialler) dial(addr string) (ours net.Conn, theirs net.Conn, refusal string) {
	d.t.Helper()
	server, client := net.Pipe()
	ip := netip.MustParseAddr(addr)
	d.accept <- func() (net.Conn, error) {
		return fakeConn{server, net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 5))}, nil
	}

	accepted, refused := make(chan net.Conn, 1), make(chan string, 1)
	go func() {
		if c, err := d.Accept(); err == nil {
			accepted <- c
		}
	}()
	go func() {
		if text, _ := io.ReadAll(client); len(text) > 0 {
			refused <- string(text)
		}
	}()
	select {
	case ours = <-accepted:
		return ours, client, ""
	case refusal = <-refused:
		// The Accept that refused waits for another; feed it an end.
		d.accept <- func() (net.Conn, error) { return nil, net.ErrClosed }
		return nil, nil, refusal
	case <-time.After(5 * time.Second):
		d.t.Fatalf("nothing came of a connection from %s", addr)
		return nil, nil, ""
	}
}

// Connections of an address and a network are counted until the last one is closed.
func TestConnectionsAreCounted(t *testing.T) {
	d := newDialler(t, Connections{Connections: 9, ConnectionsPerAddress: 9, ConnectionsPerSubnet: 9})
	var open []net.Conn
	for range 3 {
		c, _, _ := d.dial("10.0.0.1")
		open = append(open, c)
	}

	for i, c := range open {
		c.Close()
		left, counted := len(open)-i-1, 0
		for _, n := range d.byAddress {
			counted += n
		}
		for _, n := range d.bySubnet {
			counted += n
		}
		if counted != 2*left || (len(d.byAddress) == 0) != (left == 0) || (len(d.bySubnet) == 0) != (left == 0) {
			t.Errorf("with %d open there are %v by address and %v by network", left, d.byAddress, d.bySubnet)
		}
	}
}

func TestConnectionBounds(t *testing.T) {
	d := newDialler(t, Connections{Connections: 100, ConnectionsPerAddress: 2, ConnectionsPerSubnet: 3})
	f := func(addr, want string) net.Conn {
		t.Helper()
		c, _, refusal := d.dial(addr)
		if (refusal == "") != (want == "") || !strings.Contains(refusal, want) {
			t.Errorf("a connection from %s: got %q; want %q", addr, refusal, want)
		}
		return c
	}

	first := f("::ffff:10.0.0.1", "")
	f("10.0.0.1", "")
	f("10.0.0.1", "HTTP/1.1 429 Too Many Requests")
	f("10.0.0.2", "")
	f("10.0.0.3", "too many connections from your network; cannot exceed 3")
	f("10.0.1.1", "")

	// An IPv6 network is a /64, and its addresses count by themselves too.
	f("2001:db8::1", "")
	f("2001:db8::1", "")
	f("2001:db8::1", "cannot exceed 2")
	f("2001:db8::2", "")
	f("2001:db8::ffff:3", "cannot exceed 3")
	f("2001:db8:0:1::1", "")

	// A closed connection makes room, once.
	first.Close()
	first.Close()
	f("10.0.0.3", "")
	f("10.0.0.4", "cannot exceed 3")
}

// TestIdleConnectionsMakeRoom checks that the longest idle connections are closed
// when all slots are taken, and that connections with a request are not.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	d := newDialler(t, Connections{Connections: minConnections, ConnectionsPerAddress: 1000, ConnectionsPerSubnet: 1000})
	d.max = minConnections
	var open []net.Conn
	for i := range minConnections {
		c, _, refusal := d.dial(fmt.Sprintf("10.0.%d.1", i))
		if refusal != "" {
			t.Fatal(refusal)
		}
		open = append(open, c)
	}

	// All but the oldest and the newest serve.
	for _, c := range open[1 : len(open)-1] {
		c.(*conn).claim()
	}
	trackIdle(open[0], fasthttp.StateActive) // new to fasthttp, and silent
	isClosed := func(c net.Conn) bool {
		under := c.(*conn).Conn
		under.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := under.Read(make([]byte, 1))
		return err == io.ErrClosedPipe
	}

	if _, _, refusal := d.dial("10.1.0.1"); refusal != "" {
		t.Fatalf("the new connection was refused: %s", refusal)
	}
	for i, c := range open {
		if idle := i == 0 || i == len(open)-1; isClosed(c) != idle {
			t.Errorf("connection %d of %d: closed is %v; want %v", i, len(open), !idle, idle)
		}
	}

	// Nobody is idle once every slot serves.
	for len(d.open) < minConnections {
		if _, _, refusal := d.dial("10.2.0.1"); refusal != "" {
			t.Fatal(refusal)
		}
	}
	for c := range d.open {
		c.claim()
	}
	if _, _, refusal := d.dial("10.3.0.1"); !strings.Contains(refusal, "503 Service Unavailable") {
		t.Errorf("got %q; want a 503", refusal)
	}
}

// TestRequestAgainstClose checks a connection whose request comes at the moment at
// which it is closed for being idle: either the request is served, or the
// connection is closed before it is read.
func TestRequestAgainstClose(t *testing.T) {
	d := newDialler(t, DefaultConnections())
	open := func() (c *conn, theirs net.Conn) {
		ours, theirs, _ := d.dial("10.0.0.1")
		trackIdle(ours, fasthttp.StateActive)
		trackIdle(ours, fasthttp.StateIdle)
		return ours.(*conn), theirs
	}

	c, theirs := open()
	if !c.claim() || c.closeIdle() {
		t.Error("a connection with a request was closed for being idle")
	}
	if must(c.Close()); c.idleSince.Load() != 0 {
		t.Error("a connection with a request was closed before fasthttp served it")
	}
	go io.WriteString(theirs, "G")
	if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	trackIdle(c, fasthttp.StateActive)
	must(c.Close())
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection that was served stayed open")
	}

	c, _ = open()
	if !c.closeIdle() || c.claim() || c.closeIdle() {
		t.Error("a connection that was closed for being idle takes a request")
	}
	c.markIdle(time.Now())
	if c.claim() {
		t.Error("a closed connection became idle again")
	}
}

// TestRequestBehindClose checks that a request which was read before its connection was
// closed for being idle is neither answered nor counted.
func TestRequestBehindClose(t *testing.T) {
	s := serve(t, nil)
	f := func(closed bool) {
		t.Helper()
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := &conn{Conn: ours, onClose: func() {}}
		c.markIdle(time.Now())
		if closed && !c.closeIdle() {
			t.Fatal("the connection is not idle")
		}
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(c, nil, false)
		ctx.Request.SetRequestURI("/v1/plans")
		before := s.server.cfg.Board.Requests()

		s.server.serve(ctx)
		answered := len(ctx.Response.Body()) > 0
		if counted := s.server.cfg.Board.Requests() > before; answered == closed || counted == closed {
			t.Errorf("the connection was closed: %t; the request is answered: %t, counted: %t", closed, answered, counted)
		}
		if closed && !ctx.Response.ConnectionClose() {
			t.Error("a closed connection is to serve another request")
		}
	}

	f(false)
	f(true)
}

// TestEvictionOrder checks that only the longest idle connections are closed when
// many are idle.
func TestEvictionOrder(t *testing.T) {
	d := newDialler(t, Connections{Connections: minConnections, ConnectionsPerAddress: 1000, ConnectionsPerSubnet: 1000})
	d.max = minConnections
	var open []*conn
	from := time.Now()
	for i := range minConnections {
		c, _, refusal := d.dial(fmt.Sprintf("10.0.%d.1", i))
		if refusal != "" {
			t.Fatal(refusal)
		}
		open = append(open, c.(*conn))
		open[i].idleSince.Store(from.Add(time.Duration(i*37%minConnections) * time.Second).UnixNano())
	}

	if _, _, refusal := d.dial("10.1.0.1"); refusal != "" {
		t.Fatal(refusal)
	}
	for _, c := range open {
		_, kept := d.open[c]
		if idle := time.Duration(c.idleSince.Load() - from.UnixNano()); kept != (idle >= evictBatch*time.Second) {
			t.Errorf("a connection that is idle since %s is kept: %t", idle, kept)
		}
	}

	if got := d.evicted.Get(); got != evictBatch {
		t.Errorf("%d are counted; want %d", got, evictBatch)
	}

	// Those that were closed are not counted off again when they end.
	for _, c := range open {
		must(c.Close())
	}
	if len(d.open) != 1 || len(d.byAddress) != 1 || len(d.bySubnet) != 1 {
		t.Errorf("one connection is left; %d are open, from %v in %v", len(d.open), d.byAddress, d.bySubnet)
	}
}

// TestEvictionUnderTLS checks that an idle client which does not read holds up nobody: its
// connection is closed while the listener is locked.
func TestEvictionUnderTLS(t *testing.T) {
	https := httptest.NewTLSServer(nil)
	defer https.Close()
	ours, theirs := net.Pipe() // which has no buffer
	server, client := tls.Server(ours, https.TLS), tls.Client(theirs, &tls.Config{InsecureSkipVerify: true})
	c := &conn{Conn: server, onClose: func() {}}
	done := make(chan error, 1)
	go func() { done <- client.Handshake() }()
	must(server.Handshake())
	go func() { _, _ = client.Read(make([]byte, 1)) }() // takes the tickets
	_, err := server.Write([]byte("x"))
	must(err)
	must(<-done)

	c.markIdle(time.Now())
	began := time.Now()
	if !c.closeIdle() {
		t.Error("the connection is not closed")
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the close of a connection took %s", took)
	}
}

// TestReaderRate checks that clients must read as fast as the bounds say at the time at
// which they connect.
func TestReaderRate(t *testing.T) {
	bounds := DefaultConnections()
	d := newDialler(t, bounds)
	var open []*conn

	for _, rate := range []int{bounds.ReaderMinRate, 0, 100} {
		bounds.ReaderMinRate = rate
		d.setBounds(bounds)
		c, _, _ := d.dial("10.0.0.1")
		open = append(open, c.(*conn))
		for i, want := range []int{8 << 10, 0, 100}[:len(open)] {
			if got := open[i].minRate; got != want {
				t.Errorf("connection %d of %d must read %d bytes a second; want %d", i, len(open), got, want)
			}
		}
	}
}

// TestUnsentBytes checks the kernel's buffer for unread answers: the configured
// size, and less for the connections of an address with many, with TLS and without.
func TestUnsentBytes(t *testing.T) {
	const unsent = 64 << 10 // every kernel allows that much
	f := func(secure bool, before, want int) {
		t.Helper()
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		defer tcp.Close()
		bounds := DefaultConnections()
		bounds.UnsentBytes = unsent
		l := newListener(tcp, bounds, metrics.NewSet())
		if secure {
			l.Listener = tls.NewListener(tcp, &tls.Config{Certificates: []tls.Certificate{{}}})
		}
		l.byAddress[netip.MustParsePrefix("127.0.0.1/32")] = before
		client, err := net.Dial("tcp", tcp.Addr().String())
		must(err)
		defer client.Close()
		c, err := l.Accept()
		must(err)
		defer c.Close()

		socket := c.(*conn).Conn
		if secure {
			socket = socket.(*tls.Conn).NetConn()
		}
		raw, err := socket.(*net.TCPConn).SyscallConn()
		must(err)
		must(raw.Control(func(fd uintptr) {
			got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
			must(err)
			if got != 2*want { // Linux reports twice what was set
				t.Errorf("with TLS %t, after %d connections: the buffer has %d bytes; want %d", secure, before, got/2, want)
			}
		}))
	}

	for _, secure := range []bool{false, true} {
		f(secure, 0, unsent)
		f(secure, 1023, unsentPerAddress/1024)
		f(secure, 2047, minUnsent)
	}
}

// TestAcceptWithoutDescriptors checks that Accept pauses and retries while file
// descriptors run out, and ends with any other error.
func TestAcceptWithoutDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialler(t, DefaultConnections())
		f := func(pauses int, result func() (net.Conn, error), want error) {
			t.Helper()
			begun, before := time.Now(), d.acceptPauses.Get()
			go func() {
				for range pauses {
					d.accept <- func() (net.Conn, error) {
						return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
					}
				}
				d.accept <- result
			}()

			_, err := d.Accept()
			counted, took := d.acceptPauses.Get()-before, time.Since(begun)
			if err != want || counted != uint64(pauses) || took != time.Duration(pauses)*acceptPause {
				t.Errorf("Accept ended with %v after %d pauses and %s; want %v after %d", err, counted, took, want, pauses)
			}
		}

		f(3, func() (net.Conn, error) {
			c, _ := net.Pipe()
			return c, nil
		}, nil)
		f(1, func() (net.Conn, error) { return nil, net.ErrClosed }, net.ErrClosed)
	})
}

// TestConnectionsWithoutAddress checks that a connection that has no IP address counts
// towards the total alone.
func TestConnectionsWithoutAddress(t *testing.T) {
	d := newDialler(t, Connections{Connections: 100})
	for range 2 {
		d.accept <- func() (net.Conn, error) {
			c, _ := net.Pipe()
			return c, nil
		}
		if _, err := d.Accept(); err != nil {
			t.Fatal(err)
		}
	}

	if len(d.open) != 2 || len(d.byAddress) != 0 || len(d.bySubnet) != 0 {
		t.Errorf("%d connections are open, of %d addresses in %d networks", len(d.open), len(d.byAddress), len(d.bySubnet))
	}
}

// TestSlowReader checks the time that a client gets to read a long answer.
func TestSlowReader(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &conn{Conn: ours, minRate: 1 << 20, onClose: func() {}}
	must(c.SetWriteDeadline(time.Now().Add(time.Hour)))
	c.limitSlowReader(2 << 20)
	if left := time.Until(c.writeDeadline.wanted); left < slowReaderGrace || left > slowReaderGrace+3*time.Second {
		t.Errorf("2 MiB at 1 MiB a second may take %s; want %s", left, slowReaderGrace+2*time.Second)
	}

	// An earlier deadline stays.
	must(c.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	c.limitSlowReader(2 << 20)
	if left := time.Until(c.writeDeadline.wanted); left > time.Millisecond {
		t.Errorf("a deadline of 1 ms became %s", left)
	}
}

func TestConnectionsOf(t *testing.T) {
	f := func(files uint64, want int) {
		t.Helper()
		if got := connectionsOf(files); got != want {
			t.Errorf("%d open files allow %d connections; want %d", files, got, want)
		}
	}

	f(0, 64)
	f(128, 64)
	f(130, 65)
	f(1024, 512)
	f(8192, 4096)
	f(8193, 4097)
	f(20_000, 15_904)
	f(1<<63, 1<<30-4096)
}
