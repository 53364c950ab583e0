package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Child is a server that we started.
type Child struct {
	Address string         // where it listens
	Began   time.Time      // when it was started
	StopBy  syscall.Signal // what it ends in order by

	cmd    *exec.Cmd
	log    string // path of what it writes
	exited chan struct{}
	err    error // of the process; valid after exited
}

// Patience bounds a node's start until it listens, and a child's stop.
const Patience = 2 * time.Minute

// Start starts a command on the server's cores; what it writes goes to a log.
func Start(on *Cores, cmd *exec.Cmd, log string) (*Child, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("cannot make a log: %w", err)
	}
	cmd.Stdout, cmd.Stderr = file, file
	c := &Child{
		cmd: cmd, log: log, exited: make(chan struct{}), StopBy: syscall.SIGTERM, Began: time.Now(),
	}
	if err := on.start(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", cmd.Path, err), file.Close())
	}

	go func() {
		c.err = errors.Join(cmd.Wait(), file.Close())
		close(c.exited)
	}()
	return c, nil
}

// Launch starts a command with --listen, and waits until it listens or ctx ends.
func Launch(ctx context.Context, on *Cores, cmd *exec.Cmd, log string) (*Child, error) {
	address, err := SparePort()
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, "--listen", address)
	c, err := Start(on, cmd, log)
	if err != nil {
		return nil, err
	}

	c.Address = address
	err = c.Await(ctx, PollEvery/10, func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// PollEvery is the pause between two looks at a child.
const PollEvery = 50 * time.Millisecond

// Await tries until a child does what it should. One that has ended is an error.
func (c *Child) Await(ctx context.Context, every time.Duration, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if !c.Alive() {
			return fmt.Errorf("%s ended: %s", strings.Join(c.cmd.Args, " "), c.LastWords())
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(every):
		}
	}
}

// LastWords is how the process ended, if it did, and the end of its log.
func (c *Child) LastWords() string {
	const most = 2 << 10
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}

	text := LastLine(b[max(0, len(b)-most):])
	if !c.Alive() {
		text = fmt.Sprintf("%v: %s", c.cmd.ProcessState, text)
	}
	return text
}

// LastLine is the last line of what a program wrote: most often why it failed.
func LastLine(b []byte) string {
	text := strings.TrimSpace(string(b))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Pid returns the process id.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// CPU returns the CPU time of the child and all that it started; 0 of no child.
func (c *Child) CPU() time.Duration {
	if c == nil {
		return 0
	}
	return CPU(c.Pid())
}

// Alive reports whether the process runs.
func (c *Child) Alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// Stop ends the child in order, and by force when it does not end. Stopping one
// that has ended, or none, does nothing.
func (c *Child) Stop() error {
	if c == nil || !c.Alive() {
		return nil
	}
	if err := c.cmd.Process.Signal(c.StopBy); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot stop process %d: %w", c.Pid(), err)
	}

	select {
	case <-c.exited:
	case <-time.After(Patience):
		if err := c.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("cannot kill process %d: %w", c.Pid(), err)
		}
		<-c.exited
		return fmt.Errorf("process %d had to be killed after %s", c.Pid(), Patience)
	}

	if exit, ok := errors.AsType[*exec.ExitError](c.err); ok && exit.Sys().(syscall.WaitStatus).Signal() == c.StopBy {
		return nil // it does not catch the signal
	}
	return c.err
}

// Spare ports are below those that systems hand out for connections and to listeners
// without a port, so that nobody else gets one before it is used.
const (
	firstSparePort = 10_000
	sparePorts     = 20_000
	sparePortTries = 100
)

// Ports are looked at in turn. Every process starts elsewhere, since several look at once.
var (
	sparePortStart = rand.Uint32N(sparePorts)
	sparePortsSeen atomic.Uint32
)

// SparePort returns a loopback address that nobody listens on now. No two calls return the
// same one: a caller names many before it uses any.
func SparePort() (address string, err error) {
	for range sparePortTries {
		var l net.Listener
		at := (sparePortStart + sparePortsSeen.Add(1)) % sparePorts
		l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstSparePort+at))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("cannot find a spare port: %w", err)
}

// Output collects what a process writes, for others to read meanwhile.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Reset forgets what was written so far.
func (o *Output) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Reset()
}
