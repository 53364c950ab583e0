package pace

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe takes a byte from the work to itself.
type pipe struct {
	in, out *os.File
	raw     syscall.RawConn // out, for a read that waits in the scheduler's poll of the network
	buf     [1]byte
}

// pipes are reused. One that is dropped is closed by the garbage collector.
var pipes = sync.Pool{New: func() any { return newPipe() }}

// newPipe returns nil when the process has no file descriptors left.
func newPipe() *pipe {
	out, in, err := os.Pipe()
	if err != nil {
		return nil
	}
	raw, err := out.SyscallConn()
	if err != nil {
		return nil
	}
	return &pipe{in: in, out: out, raw: raw}
}

// pauseWithoutPipe is slept where the process has no file descriptors left for a pipe.
const pauseWithoutPipe = 20 * time.Microsecond

// giveWay returns after other threads have had this one's processor, if they wait for it, and
// the scheduler has looked at the network.
func giveWay() {
	yieldThread()
	p := pipes.Get().(*pipe)
	if p == nil {
		time.Sleep(pauseWithoutPipe)
		return
	}
	if p.send() == nil {
		pipes.Put(p)
	}
}

// send sends a byte through the pipe and waits until the scheduler reports it. A
// byte that is written when the wait for it has begun cannot be read before that.
func (p *pipe) send() (err error) {
	sent := false
	waited := p.raw.Read(func(fd uintptr) (done bool) {
		if !sent {
			sent = true
			_, err = p.in.Write(p.buf[:])
			return err != nil
		}

		n, failed := syscall.Read(int(fd), p.buf[:])
		if failed != syscall.EAGAIN && failed != syscall.EINTR {
			err = failed
		}
		return n == 1 || err != nil
	})

	if err == nil {
		err = waited
	}
	return err
}
