package bench

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// cores says which serve and which ask. On two or more cores the client never
// takes time from the server, and both halves of a measurement have the same.
type cores struct {
	server, client unix.CPUSet
	text           string
}

// splitCores gives the server the first half of the cores that we may use.
func splitCores(pin bool) (c cores, err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return c, fmt.Errorf("cannot read the allowed cores: %w", err)
	}
	n := all.Count()
	if !pin || n < 2 {
		return cores{all, all, fmt.Sprintf("nothing is pinned; %d cores", n)}, nil
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
	c.text = fmt.Sprintf("%d of %d cores serve (GOMAXPROCS %d), the others ask", n/2, n, max(2, n/2))
	return c, nil
}

// start starts a command on the server's cores. It dies with us. A server on
// one core still runs Go code while another of its threads waits for a disk,
// as it would on a machine of its own.
func (c *cores) start(cmd *exec.Cmd) error {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", max(2, c.server.Count())))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // a child inherits the cores of the thread that made it
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &c.server); err != nil {
		return fmt.Errorf("cannot choose cores: %w", err)
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &c.client); err == nil && back != nil {
		err = fmt.Errorf("cannot choose cores: %w", back)
	}
	return err
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
	runtime.GOMAXPROCS(max(2, c.client.Count())) // one asks, one looks at answers and clocks
	return nil
}

// workers is how many threads ask.
func (c *cores) workers() int { return max(1, c.client.Count()) }
