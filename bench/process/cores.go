package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cores says which cores serve and which ask. With two or more, the client
// never takes time from the server, and both sides of a comparison have the
// same cores.
type Cores struct {
	Text           string // for whoever reads the figures
	server, client unix.CPUSet
	all            []int // the server's first
}

// Split gives the server the first half of the cores that we may use. Without
// pin, or with one core, both sides share all of them.
func Split(pin bool) (*Cores, error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("cannot read the allowed cores: %w", err)
	}

	n, c := all.Count(), new(Cores)
	for cpu := 0; len(c.all) < n; cpu++ {
		if all.IsSet(cpu) {
			c.all = append(c.all, cpu)
		}
	}
	if !pin || n < 2 {
		c.server, c.client, c.Text = all, all, fmt.Sprintf("nothing is pinned; %d cores", n)
		return c, nil
	}
	for i, cpu := range c.all {
		if i < n/2 {
			c.server.Set(cpu)
		} else {
			c.client.Set(cpu)
		}
	}
	c.Text = fmt.Sprintf("%d of %d cores serve, the others ask", n/2, n)
	return c, nil
}

// Only returns the same with a server of n cores: the first ones, of which the
// last are the client's too where the server has fewer of its own. 0 changes
// nothing.
func (c *Cores) Only(n int) *Cores {
	if n == 0 {
		return c
	}
	narrow := *c
	narrow.server.Zero()
	for _, cpu := range c.all[:min(n, len(c.all))] {
		narrow.server.Set(cpu)
	}
	return &narrow
}

// Client is how many cores ask.
func (c *Cores) Client() int { return c.client.Count() }

// TakeClient moves every thread of this process to the client's cores.
func (c *Cores) TakeClient() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("cannot list our threads: %w", err)
	}

	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, &c.client)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended meanwhile
			return fmt.Errorf("cannot choose cores of thread %s: %w", t.Name(), err)
		}
	}
	runtime.GOMAXPROCS(max(2, c.client.Count())) // one asks, one checks answers
	return nil
}

// OnServer runs f on the server's cores and returns the CPU time that it took:
// a yardstick of what a server does runs where the server does.
func (c *Cores) OnServer(f func()) (cpu time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &c.server); err != nil {
		return 0, fmt.Errorf("cannot choose cores: %w", err)
	}

	var before, after unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before)
	f()
	err = errors.Join(err, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after),
		unix.SchedSetaffinity(0, &c.client))
	if err != nil {
		return 0, fmt.Errorf("cannot measure on the server's cores: %w", err)
	}
	return time.Duration(after.Nano() - before.Nano()), nil
}

// start starts a command on the server's cores. It dies with us, and is of a
// process group of its own: an interrupt at a terminal is for us alone.
func (c *Cores) start(cmd *exec.Cmd) (err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig, cmd.SysProcAttr.Setpgid = syscall.SIGKILL, true
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	// A server on one core runs on while a thread of it waits for a disk.
	cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", max(2, c.server.Count())))

	// A child inherits the cores of the thread that makes it.
	_, pinned := c.OnServer(func() { err = cmd.Start() })
	return errors.Join(err, pinned)
}
