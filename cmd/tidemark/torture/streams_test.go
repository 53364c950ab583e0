package torture

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/bench/process"
)

const (
	// streamDials is how many streams are opened at once.
	streamDials = 64
	// commentEvery is how often a stream without events has a comment, and
	// commentSlack how late that may be on a machine that others use.
	commentEvery, commentSlack = 15 * time.Second, 5 * time.Second
	// streamMemory is what the node may hold for a quiet stream: its connection's
	// goroutine, its buffers, and what it watches.
	streamMemory = 24 << 10
	// streamCPU is the share of a processor that a thousand quiet streams may use
	// beside the market that they watch.
	streamCPU = 0.05
)

// TestStreams opens many streams of owners to whom nothing happens, on a node whose
// market goes on. Each has its comment in time, none ends, and the node answers others
// meanwhile. It holds little for each, and gives everything back when they leave.
func TestStreams(t *testing.T) {
	many := share(t, 1_000, 10_000)
	n := newNode(t, smallMarket+fmt.Sprintf("[limits]\nconnections = %d\nconnections-per-address = %d\n"+
		"connections-per-subnet = %[1]d\n", many+1000, many+1000))
	n.start()
	s := &streams{flood: flood{node: n, key: n.customer("acme", "unlimited")}}
	s.checkNewcomer()
	sockets, goroutines := s.settled(0, 0)
	heap := s.sampleHeap()
	idle := s.cpuShare()

	s.openStreams(many)
	s.await("all streams", func() bool { return s.counter("tidemark_edge_streams_open") == float64(many) })
	each := (s.sampleHeap() - heap) / float64(many)
	late := s.awaitComments()
	busy := s.cpuShare()
	s.checkNewcomer()
	ended := many - int(s.counter("tidemark_edge_streams_open"))
	s.closeAll()
	sockets2, goroutines2 := s.settled(sockets, goroutines)

	if late > 0 || ended > 0 {
		t.Errorf("%d streams had no comment within %s, %d ended", late, commentEvery+commentSlack, ended)
	}
	if each > streamMemory {
		t.Errorf("a quiet stream takes %.0f bytes of the node; cannot exceed %d", each, streamMemory)
	}
	thousands := float64(many) / 1000
	if (busy-idle)/thousands > streamCPU {
		t.Errorf("a thousand quiet streams use %.3f processors; cannot exceed %.3f", (busy-idle)/thousands, streamCPU)
	}
	if sockets2 > sockets || goroutines2 > goroutines {
		t.Errorf("%.0f sockets and %.0f goroutines are left; before there were %.0f and %.0f",
			sockets2, goroutines2, sockets, goroutines)
	}
	figure(t, "%d quiet streams: %.1f KB of heap and stacks each, %.3f processors for all, %d without their comment, "+
		"%d ended; the slowest new client was answered after %s; sockets %.0f -> %.0f, goroutines %.0f -> %.0f", many,
		each/1e3, busy-idle, late, ended, s.slowest.Round(time.Millisecond), sockets, sockets2, goroutines, goroutines2)
	n.stop()
}

// streams is a flood of clients that watch.
type streams struct{ flood }

// openStreams opens streams of owners that own nothing, and reads their heads.
func (s *streams) openStreams(many int) {
	s.t.Helper()
	conns := make([]net.Conn, many)
	turns := make(chan struct{}, streamDials)
	var all sync.WaitGroup
	for i := range conns {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			conns[i] = s.openStream(i)
		})
	}
	all.Wait()

	for _, c := range conns {
		if c != nil {
			s.open = append(s.open, c)
		}
	}
	if len(s.open) < many {
		s.t.Fatalf("%d of %d streams could be opened", len(s.open), many)
	}
}

func (s *streams) openStream(number int) net.Conn {
	c := s.connect(number)
	if c == nil {
		return nil
	}
	c.SetDeadline(time.Now().Add(askTimeout))
	fmt.Fprintf(c, "GET /v1/stream?owner=0x%040x HTTP/1.1\r\nHost: x\r\nKC-APIKey: %s\r\n\r\n", number+1, s.key)

	line, err := bufio.NewReaderSize(c, 16).ReadString('\n') // what follows is read later
	if err != nil || !strings.Contains(line, " 200 ") {
		s.t.Errorf("stream %d is answered %q %v", number, line, err)
		c.Close()
		return nil
	}
	return c
}

// awaitComments reads every stream to a comment that was sent from now on, and counts
// those that have none in time.
func (s *streams) awaitComments() (late int) {
	end := time.Now().Add(commentEvery + commentSlack)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, c := range s.open {
		all.Go(func() {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			buf := make([]byte, 4<<10)
			for { // what is there already
				if _, err := c.Read(buf); err != nil {
					break
				}
			}

			c.SetReadDeadline(end)
			n, err := c.Read(buf)
			if err != nil || !strings.Contains(string(buf[:n]), ":") {
				mu.Lock()
				late++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return late
}

// sampleHeap returns what the node holds in its heap and stacks after a collection.
func (s *streams) sampleHeap() float64 {
	s.t.Helper()
	if _, _, err := get(s.ops+"/debug/pprof/heap?gc=1", ""); err != nil {
		s.t.Fatal(err)
	}
	return s.counter("go_memstats_heap_alloc_bytes") + s.counter("go_memstats_stack_inuse_bytes")
}

// cpuShare returns how many processors the node uses, over some seconds.
func (s *streams) cpuShare() float64 {
	const over = 4 * time.Second
	from, cpu := time.Now(), process.CPU(s.cmd.Process.Pid)
	time.Sleep(over)
	return (process.CPU(s.cmd.Process.Pid) - cpu).Seconds() / time.Since(from).Seconds()
}
