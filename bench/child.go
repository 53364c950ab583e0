package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// child is a process that we started and that says on its standard output
// where it listens.
type child struct {
	cmd     *exec.Cmd
	log     *os.File // its standard error
	exited  chan struct{}
	err     error // of the process; valid after exited
	Address string
	Began   time.Time
}

// childTimeout bounds a child's start until it says its address, and its stop.
const childTimeout = 2 * time.Minute

// addressMark stands before an address on a child's standard output.
const addressMark = "http://"

// spawn starts a command on the server's cores and waits for its address.
func spawn(ctx context.Context, on *cores, cmd *exec.Cmd, logPath string) (*child, error) {
	logFile, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("cannot make a log: %w", err)
	}
	c := &child{cmd: cmd, log: logFile, exited: make(chan struct{})}
	cmd.Stderr = logFile
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	c.Began = time.Now()
	if err := on.start(cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", cmd.Path, err), logFile.Close())
	}
	said := make(chan string, 1)
	go func() {
		defer close(c.exited)
		said <- firstAddress(out)
		_, copyErr := io.Copy(logFile, out)
		c.err = errors.Join(cmd.Wait(), copyErr, logFile.Close())
	}()
	timer := time.NewTimer(childTimeout)
	defer timer.Stop()
	select {
	case c.Address = <-said:
	case <-timer.C:
	case <-ctx.Done():
	}
	if c.Address == "" {
		stopErr := c.Stop()
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s did not start: %s",
			strings.Join(cmd.Args, " "), lastLine(logPath)), stopErr)
	}
	return c, nil
}

// firstAddress returns the first host:port that is printed; "" when none is.
func firstAddress(out io.Reader) string {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if _, after, ok := strings.Cut(line, addressMark); ok {
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

// lastLine is what a log ends with: most often why a process ended.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(b))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Pid returns the process id.
func (c *child) Pid() int { return c.cmd.Process.Pid }

// CPU returns the CPU time that the child has used.
func (c *child) CPU() time.Duration { return processCPU(c.Pid()) }

// Alive reports whether the process runs.
func (c *child) Alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// Stop ends the child in order, and by force when it does not end. Stopping a
// child that has ended is nothing.
func (c *child) Stop() error {
	if !c.Alive() {
		return nil
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot stop process %d: %w", c.Pid(), err)
	}
	timer := time.NewTimer(childTimeout)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		if err := c.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("cannot kill process %d: %w", c.Pid(), err)
		}
		<-c.exited
		return fmt.Errorf("process %d had to be killed after %s", c.Pid(), childTimeout)
	}
	var exit *exec.ExitError
	if errors.As(c.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil // the yardstick does not catch it
	}
	return c.err
}
