//go:build linux && !race

package edge

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// connected returns both ends of a connection, the first as a socket.
func connected(t *testing.T, network, address string) (*socket, net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })

	s := newSocket(ours)
	if s == nil {
		t.Fatalf("a connection of %s has no socket", network)
	}
	return s, ours, theirs
}

// TestSocketCarriesBytes: texts arrive whole and in order, also when there is less room in
// the kernel than they need, and the end is io.EOF.
func TestSocketCarriesBytes(t *testing.T) {
	f := func(network, address string) {
		t.Helper()
		s, ours, theirs := connected(t, network, address)
		head, body := bytes.Repeat([]byte("head"), 3000), bytes.Repeat([]byte("the body"), 1<<20)
		for _, part := range [][2][]byte{{head, body}, {body, nil}, {nil, head}, {nil, nil}, {body, head}} {
			want := append(append([]byte{}, part[0]...), part[1]...)
			got := make([]byte, len(want))
			read := make(chan error)
			go func() { _, err := io.ReadFull(theirs, got); read <- err }()

			n, err := s.Write(part[0], part[1])
			if err != nil || n != len(want) {
				t.Fatalf("%s: sent %d of %d bytes, %v", network, n, len(want), err)
			}
			if err := <-read; err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d bytes did not arrive as sent, %v", network, len(want), err)
			}
		}

		time.AfterFunc(20*time.Millisecond, func() { theirs.Write([]byte("question")); theirs.Close() })
		room := make([]byte, 100)
		if n, err := s.Read(room); err != nil || string(room[:n]) != "question" {
			t.Errorf("%s: read %q, %v", network, room[:n], err)
		}
		if n, err := s.Read(room); n != 0 || err != io.EOF {
			t.Errorf("%s: at the end read %d bytes, %v", network, n, err)
		}
		ours.Close()
		if _, err := s.Read(room); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: reading what is closed is %v", network, err)
		}
		if _, err := s.Write(head, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: writing to what is closed is %v", network, err)
		}
	}

	f("tcp", "127.0.0.1:0")
	f("unix", filepath.Join(t.TempDir(), "s"))
}

// TestSocketKeepsDeadlines: a deadline ends a call that waits, and a close does.
func TestSocketKeepsDeadlines(t *testing.T) {
	s, ours, _ := connected(t, "tcp", "127.0.0.1:0")
	much := make([]byte, 64<<20) // more than the kernel takes
	ours.SetDeadline(time.Now().Add(30 * time.Millisecond))
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading past the deadline is %v", err)
	}
	ours.SetDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := s.Write(much, nil); n == 0 || n == len(much) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("sending past the deadline is %d bytes, %v", n, err)
	}

	ours.SetDeadline(time.Time{})
	time.AfterFunc(30*time.Millisecond, func() { ours.Close() })
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("reading what another goroutine closes is %v", err)
	}
}

// TestSocketAllocatesNothing: a question and an answer cost no objects.
func TestSocketAllocatesNothing(t *testing.T) {
	s, _, theirs := connected(t, "tcp", "127.0.0.1:0")
	text, room := []byte("text"), make([]byte, 100)
	n := testing.AllocsPerRun(100, func() {
		s.Write(text, text)
		theirs.Read(room)
		theirs.Write(text)
		s.Read(room)
	})
	if n != 0 {
		t.Errorf("a question and an answer are %v objects", n)
	}
}
