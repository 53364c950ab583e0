package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cores says which cores serve and which ask. With two or more, the client
// never takes time from the server, and both sides of a comparison have the same.
type Cores struct {
	Text           string // for whoever reads the figures
	server, client []int
}

// Split gives the server the first half of the cores that we may use. Without
// pin, or with one core, both sides share all of them.
func Split(pin bool) (*Cores, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("cannot read the allowed cores: %w", err)
	}
	var all []int
	for core := 0; len(all) < allowed.Count(); core++ {
		if allowed.IsSet(core) {
			all = append(all, core)
		}
	}

	n := len(all)
	if !pin || n < 2 {
		return &Cores{fmt.Sprintf("nothing is pinned; %d cores", n), all, all}, nil
	}
	return &Cores{fmt.Sprintf("%d of %d cores serve, the others ask", n/2, n), all[:n/2], all[n/2:]}, nil
}

// Only returns the same with a server of n cores: the first ones, of which the
// last are the client's too where the server has fewer; 0 changes nothing.
func (c *Cores) Only(n int) *Cores {
	if n == 0 {
		return c
	}
	first := slices.Concat(c.server, c.client)
	return &Cores{c.Text, first[:min(n, len(first))], c.client}
}

// Apart reports whether no core of the client serves, if n cores do; 0 are the server's
// half.
func (c *Cores) Apart(n int) bool {
	return !slices.ContainsFunc(c.Only(n).server, func(core int) bool {
		return slices.Contains(c.client, core)
	})
}

// Client is how many cores ask.
func (c *Cores) Client() int { return len(c.client) }

// pin moves a thread to some cores; 0 is the one that calls.
func pin(thread int, cores []int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	return unix.SchedSetaffinity(thread, &set)
}

// TakeClient moves every thread of this process to the client's cores.
func (c *Cores) TakeClient() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("cannot list our threads: %w", err)
	}

	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = pin(id, c.client)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended meanwhile
			return fmt.Errorf("cannot choose cores of thread %s: %w", t.Name(), err)
		}
	}
	runtime.GOMAXPROCS(max(2, len(c.client))) // one asks, one reads clocks
	return nil
}

// OnServer runs f on the server's cores and returns the CPU time that it took:
// a yardstick of what a server does runs where the server does.
func (c *Cores) OnServer(f func()) (cpu time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := pin(0, c.server); err != nil {
		return 0, fmt.Errorf("cannot choose cores: %w", err)
	}

	var before, after unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &before)
	f()
	err = errors.Join(err, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &after),
		pin(0, c.client))
	if err != nil {
		return 0, fmt.Errorf("cannot measure on the server's cores: %w", err)
	}
	return time.Duration(after.Nano() - before.Nano()), nil
}

// start starts a command on the server's cores. It dies with us, and is of a
// process group of its own: an interrupt at a terminal is for us alone.
func (c *Cores) start(cmd *exec.Cmd) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("GOMAXPROCS=%d", len(c.server)))

	// A child inherits the cores of the thread that makes it.
	_, pinned := c.OnServer(func() { err = cmd.Start() })
	return errors.Join(err, pinned)
}
