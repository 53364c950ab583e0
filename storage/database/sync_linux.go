package database

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncer lets the kernel sync a file and waits for that as a connection waits for a
// request: in the scheduler, without a thread. It does one sync at a time.
type syncer struct {
	ring   uintptr  // the kernel's queue of operations, with room for one
	done   *os.File // readable when the operation is complete
	doneFD uint32   // its eventfd; File.Fd would make it one that is waited for in the kernel
	op     operation
}

// operation and completion are struct iocb and struct io_event of linux/aio_abi.h.
type operation struct {
	_       [2]uint64
	opcode  uint16
	_       uint16
	file    uint32
	_       [4]uint64
	flags   uint32
	eventFD uint32
}

type completion struct {
	_      [2]uint64
	result int64 // a negative errno
	_      int64
}

const (
	opSync      = 2 // IOCB_CMD_FSYNC
	opSyncData  = 3 // IOCB_CMD_FDSYNC
	flagEventFD = 1 // IOCB_FLAG_RESFD
)

// syncers are reused. There is one for every sync that is under way: a log and a few
// tables at most.
var syncers = make(chan *syncer, 8)

// newSyncer returns nil where the kernel has no asynchronous operations for us.
func newSyncer() *syncer {
	s := new(syncer)
	const room = 1
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, room, uintptr(unsafe.Pointer(&s.ring)), 0); e != 0 {
		return nil
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		s.close()
		return nil
	}
	s.done, s.doneFD = os.NewFile(uintptr(fd), "eventfd"), uint32(fd)
	return s
}

func (s *syncer) close() {
	unix.Syscall(unix.SYS_IO_DESTROY, s.ring, 0, 0)
	if s.done != nil {
		s.done.Close()
	}
}

// SyncsAside reports whether files are synced without a thread that waits. Where they
// are not, a node needs a second thread for whatever else there is to do.
func SyncsAside() bool {
	s := takeSyncer()
	if s == nil {
		return false
	}
	s.release()
	return true
}

func takeSyncer() *syncer {
	select {
	case s := <-syncers:
		return s
	default:
		return newSyncer()
	}
}

func (s *syncer) release() {
	select {
	case syncers <- s:
	default:
		s.close()
	}
}

// syncAside syncs an open file, or only its data and what is needed to read it. It
// reports false if the kernel did not take the operation: then nothing was done.
func syncAside(fd uintptr, opcode uint16) (taken bool, err error) {
	s := takeSyncer()
	if s == nil {
		return false, nil
	}
	if !s.submit(fd, opcode) {
		s.close()
		return false, nil
	}

	if err := s.wait(); err != nil {
		s.close()
		return true, err
	}
	s.release()
	return true, nil
}

func (s *syncer) submit(fd uintptr, opcode uint16) bool {
	s.op = operation{opcode: opcode, file: uint32(fd), flags: flagEventFD, eventFD: s.doneFD}
	op := &s.op
	n, _, e := unix.Syscall(unix.SYS_IO_SUBMIT, s.ring, 1, uintptr(unsafe.Pointer(&op)))
	return e == 0 && n == 1
}

// wait waits until the operation is complete and returns its error.
func (s *syncer) wait() error {
	var count [8]byte
	if _, err := s.done.Read(count[:]); err != nil {
		return fmt.Errorf("cannot wait for a sync: %w", err)
	}
	if n := binary.NativeEndian.Uint64(count[:]); n != 1 {
		panic(fmt.Sprintf("BUG: %d syncs are complete; want 1", n))
	}

	var c completion
	n, _, e := unix.Syscall6(unix.SYS_IO_GETEVENTS, s.ring, 1, 1, uintptr(unsafe.Pointer(&c)), 0, 0)
	switch {
	case e != 0:
		return fmt.Errorf("cannot read the result of a sync: %w", e)
	case n != 1:
		return fmt.Errorf("cannot read the result of a sync: %d results", n)
	case c.result < 0:
		return unix.Errno(-c.result)
	}
	return nil
}
