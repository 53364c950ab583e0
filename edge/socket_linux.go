//go:build linux && !race

package edge

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket reads and writes a connection without telling the scheduler of a system call.
// Sockets do not block, so no call lasts longer than the copying of its bytes. The
// scheduler does not know that: it takes the processor from whoever is in a call for more
// than some 20 µs, as long as sending a page takes, and gives it to another thread. On a
// node with one processor that thread has nothing to do but to look at the network, and
// every answer is followed by a struggle of two threads for the processor.
//
// It calls what only sockets have: read and writev find out first what kind of file they
// are called for, which takes some 50 ns each.
//
// One goroutine may read while another sends. The race detector learns
// from the usual calls what happens before what, so that builds for it have no sockets.
type socket struct {
	raw  syscall.RawConn
	read func(fd uintptr) (done bool) // a call with the fields below
	send func(fd uintptr) (done bool) // likewise

	room      []byte // to read into
	got       int    // bytes that were read
	readErrno syscall.Errno

	parts     [2]unix.Iovec // to send
	count     int           // of parts
	message   unix.Msghdr   // of them
	sent      int           // bytes
	sendErrno syscall.Errno
}

// maxRaw bounds what is sent so, because a stop of the world waits for the copying of it,
// some 50 µs. What is longer goes the usual way.
const maxRaw = 256 << 10

// newSocket returns the socket of a connection, or nil if it is none of the system's.
func newSocket(c net.Conn) *socket {
	var raw syscall.RawConn
	var err error
	switch c := c.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil // it is closed, which the first Read finds
	}

	s := &socket{raw: raw}
	s.read, s.send, s.message.Iov = s.tryRead, s.trySend, &s.parts[0]
	return s
}

// Read reads as a net.Conn does. p must not be empty.
func (s *socket) Read(p []byte) (int, error) {
	s.room, s.got, s.readErrno = p, 0, 0
	err := s.raw.Read(s.read)
	s.room = nil

	switch {
	case err != nil:
		return 0, err
	case s.readErrno != 0:
		return 0, os.NewSyscallError("recvfrom", s.readErrno)
	case s.got == 0:
		return 0, io.EOF
	}
	return s.got, nil
}

func (s *socket) tryRead(fd uintptr) (done bool) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(s.room))), uintptr(len(s.room)),
			unix.MSG_DONTWAIT, 0, 0)

		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case 0:
			s.got = int(n)
		}
		s.readErrno = errno
		return true
	}
}

// Write sends two texts, of which the second may be empty, and returns how many bytes of
// both were sent.
func (s *socket) Write(head, body []byte) (int, error) {
	s.sent, s.sendErrno, s.count = 0, 0, 0
	for _, part := range [2][]byte{head, body} {
		if len(part) > 0 {
			s.parts[s.count].Base = unsafe.SliceData(part)
			s.parts[s.count].SetLen(len(part))
			s.count++
		}
	}
	if s.count == 0 {
		return 0, nil
	}

	err := s.raw.Write(s.send)
	clear(s.parts[:])
	if err == nil && s.sendErrno != 0 {
		err = os.NewSyscallError("sendmsg", s.sendErrno)
	}
	return s.sent, err
}

func (s *socket) trySend(fd uintptr) (done bool) {
	for s.count > 0 {
		s.message.SetIovlen(s.count)
		n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, fd,
			uintptr(unsafe.Pointer(&s.message)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)

		switch errno {
		case 0:
			s.sent += int(n)
			s.skip(int(n))
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			s.sendErrno = errno
			return true
		}
	}
	return true
}

// skip takes n bytes that were sent from the parts.
func (s *socket) skip(n int) {
	for s.count > 0 && n >= int(s.parts[0].Len) {
		n -= int(s.parts[0].Len)
		s.parts[0], s.parts[1] = s.parts[1], unix.Iovec{}
		s.count--
	}
	if n > 0 {
		rest := unsafe.Slice(s.parts[0].Base, s.parts[0].Len)[n:]
		s.parts[0].Base = unsafe.SliceData(rest)
		s.parts[0].SetLen(len(rest))
	}
}
