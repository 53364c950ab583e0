package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Child is a server that we started.
type Child struct {
	Address string         // where it listens, as it said itself
	Began   time.Time      // when it was started
	StopBy  syscall.Signal // what it ends in order by

	cmd    *exec.Cmd
	log    string // path of what it writes
	exited chan struct{}
	err    error // of the process; valid after exited
}

// Patience bounds a child's start until it says its address, and its stop.
const Patience = 2 * time.Minute

// AddressMark stands before an address on a child's standard output.
const AddressMark = "http://"

// Start starts a command on the server's cores; what it writes goes to a log.
func Start(on *Cores, cmd *exec.Cmd, log string) (*Child, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("cannot make a log: %w", err)
	}
	cmd.Stderr = file
	if cmd.Stdout == nil {
		cmd.Stdout = file
	}

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

// Launch starts a command and waits until it says where it listens.
func Launch(ctx context.Context, on *Cores, cmd *exec.Cmd, log string) (*Child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	cmd.Stdout = w
	c, err := Start(on, cmd, log)
	w.Close()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}

	said := make(chan string, 1)
	go func() {
		in := bufio.NewReader(r)
		said <- firstAddress(in)
		_, _ = io.Copy(io.Discard, in) // so that it never waits for a reader
		r.Close()
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case c.Address = <-said:
	case <-timer.C:
	case <-ctx.Done():
	}

	if c.Address == "" {
		stopped := c.Stop()
		return nil, errors.Join(ctx.Err(), stopped,
			fmt.Errorf("%s did not start: %s", strings.Join(cmd.Args, " "), c.LastWords()))
	}
	return c, nil
}

// firstAddress returns the first host:port that is printed; "" when none is.
func firstAddress(in *bufio.Reader) string {
	for {
		line, err := in.ReadString('\n')
		if _, after, ok := strings.Cut(line, AddressMark); ok {
			if i := strings.IndexAny(after, " /\n"); i >= 0 {
				after = after[:i]
			}
			return after
		}
		if err != nil {
			return ""
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

// CPU returns the CPU time of the child and of everything that it started; 0
// of no child.
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

	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		if err := c.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("cannot kill process %d: %w", c.Pid(), err)
		}
		<-c.exited
		return fmt.Errorf("process %d had to be killed after %s", c.Pid(), Patience)
	}

	var exit *exec.ExitError
	if errors.As(c.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == c.StopBy {
		return nil // it does not catch the signal
	}
	return c.err
}

// SparePort returns a loopback address that nobody listens on now.
func SparePort() (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a spare port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
