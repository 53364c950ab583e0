package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cores says which serve and which ask, as in the bench suite: the first half
// serves, so that a client never takes time from a server.
type cores struct {
	server, client unix.CPUSet
	text           string
}

func splitCores() (c cores, err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return c, fmt.Errorf("cannot read the allowed cores: %w", err)
	}
	n := all.Count()
	if n < 2 {
		return cores{all, all, "one core serves and asks"}, nil
	}
	seen := 0
	for cpu := 0; seen < n; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		if seen < n/2 {
			c.server.Set(cpu)
		} else {
			c.client.Set(cpu)
		}
		seen++
	}
	c.text = fmt.Sprintf("%d of %d cores serve, the others ask", n/2, n)
	return c, nil
}

// settle moves every thread of this process to the client's cores.
func (c *cores) settle() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("cannot list our threads: %w", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, &c.client)
		}
		if err != nil {
			return fmt.Errorf("cannot choose cores of thread %s: %w", t.Name(), err)
		}
	}
	runtime.GOMAXPROCS(max(2, c.client.Count()))
	return nil
}

// child is a process of ours. It dies with us.
type child struct {
	cmd     *exec.Cmd
	log     *os.File
	logPath string
	exited  chan struct{}
	err     error // of the process; valid after exited
	stopBy  syscall.Signal
	Address string
}

// childTimeout bounds a child's start until it says its address, and its stop.
const childTimeout = 2 * time.Minute

// addressMark stands before an address on a child's standard output.
const addressMark = "http://"

// start starts a command on the server's cores; what it says goes to a log.
func start(on *cores, cmd *exec.Cmd, logPath string) (*child, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("cannot make a log: %w", err)
	}
	c := &child{cmd: cmd, log: log, logPath: logPath, exited: make(chan struct{}), stopBy: syscall.SIGTERM}
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true // an interrupt at a terminal is for us alone
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", max(2, on.server.Count())))
	runtime.LockOSThread() // a child inherits the cores of the thread that made it
	defer runtime.UnlockOSThread()
	err = unix.SchedSetaffinity(0, &on.server)
	if err == nil {
		err = errors.Join(cmd.Start(), unix.SchedSetaffinity(0, &on.client))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", cmd.Path, err), log.Close())
	}
	go func() {
		c.err = errors.Join(cmd.Wait(), log.Close())
		close(c.exited)
	}()
	return c, nil
}

// spawn starts a command and waits until it says where it listens.
func spawn(ctx context.Context, on *cores, cmd *exec.Cmd, logPath string) (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer r.Close()
	cmd.Stdout = w
	c, err := start(on, cmd, logPath)
	w.Close()
	if err != nil {
		return nil, err
	}
	said := make(chan string, 1)
	go func() { said <- firstAddress(r) }()
	timer := time.NewTimer(childTimeout)
	defer timer.Stop()
	select {
	case c.Address = <-said:
	case <-timer.C:
	case <-ctx.Done():
	}
	if c.Address == "" {
		return nil, errors.Join(ctx.Err(), c.Stop(),
			fmt.Errorf("%s did not start: %s", cmd.Path, c.lastWords()))
	}
	return c, nil
}

// firstAddress returns the first host:port that is printed; "" when none is.
func firstAddress(out io.Reader) string {
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if _, after, ok := strings.Cut(line, addressMark); ok {
			address, _, _ := strings.Cut(after, " ")
			return strings.Trim(address, "/\n")
		}
		if err != nil {
			return ""
		}
	}
}

// lastWords is how a process ended, if it did, and what its log ends with:
// most often why.
func (c *child) lastWords() string {
	const most = 2 << 10
	b, err := os.ReadFile(c.logPath)
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(b[max(0, len(b)-most):]))
	if !c.alive() {
		text = fmt.Sprintf("%v: %s", c.cmd.ProcessState, text)
	}
	return text
}

func (c *child) alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// CPU returns the CPU time of the child and all that it started.
func (c *child) CPU() time.Duration {
	if c == nil {
		return 0
	}
	return treeCPU(c.cmd.Process.Pid)
}

// Stop ends the child in order, and by force when it does not end. Stopping
// one that has ended, or none, is nothing.
func (c *child) Stop() error {
	if c == nil || !c.alive() {
		return nil
	}
	if err := c.cmd.Process.Signal(c.stopBy); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot stop process %d: %w", c.cmd.Process.Pid, err)
	}
	timer := time.NewTimer(childTimeout)
	defer timer.Stop()
	select {
	case <-c.exited:
		return nil
	case <-timer.C:
	}
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("cannot kill process %d: %w", c.cmd.Process.Pid, err)
	}
	<-c.exited
	return fmt.Errorf("process %d had to be killed after %s", c.cmd.Process.Pid, childTimeout)
}

// sparePort returns a loopback port that nobody listened on just now.
func sparePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a spare port: %w", err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
