package process

import (
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tidemark/bench/report"
)

// Readings of a process that is gone, or of a kernel that does not tell, are 0.

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// CPU returns the CPU time of processes, their descendants, and those of them that have
// ended and were waited for. All are read at one time.
func CPU(pids ...int) time.Duration {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0
	}

	children := map[int][]int{}
	for _, p := range all {
		if s, err := p.Stat(); err == nil {
			children[s.PPID] = append(children[s.PPID], p.PID)
		}
	}
	sum := time.Duration(0)
	for tree := slices.Clone(pids); len(tree) > 0; tree = tree[1:] {
		sum += processCPU(tree[0])
		tree = append(tree, children[tree[0]]...)
	}
	return sum
}

// processCPU is a process with its ended children. What its threads used is
// known in nanoseconds; the process's own figure is coarser, with ended threads.
func processCPU(pid int) time.Duration {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	s, err := p.Stat()
	if err != nil {
		return 0
	}

	var fine time.Duration
	threads, _ := procfs.AllThreads(pid) // none when it has ended meanwhile
	for _, t := range threads {
		if on, err := t.Schedstat(); err == nil {
			fine += time.Duration(on.RunningNanoseconds)
		}
	}
	return max(fine, time.Duration(s.UTime+s.STime)*tick) + time.Duration(s.CUTime+s.CSTime)*tick
}

// Waits returns how long the threads of a process, of those that there are, have been
// ready to run without a core.
func Waits(pid int) (sum time.Duration) {
	threads, _ := procfs.AllThreads(pid) // none when it has ended meanwhile
	for _, t := range threads {
		if on, err := t.Schedstat(); err == nil {
			sum += time.Duration(on.WaitingNanoseconds)
		}
	}
	return sum
}

// Reading is what a process holds and has written.
type Reading struct {
	Resident, Peak uint64 // bytes of memory, now and the most there ever was
	Written        uint64 // bytes sent to disks
}

// Read reads a process.
func Read(pid int) (r Reading) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return r
	}
	if s, err := p.NewStatus(); err == nil {
		r.Resident, r.Peak = s.VmRSS, s.VmHWM
	}
	if io, err := p.IO(); err == nil {
		r.Written = io.WriteBytes
	}
	return r
}

// Own returns the CPU time of this process and of its children that have ended.
func Own() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			panic("BUG: getrusage of ourselves: " + err.Error())
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// Thread returns the CPU time of the calling thread, which must be locked.
func Thread() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("BUG: the clock of our own thread: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Machine is what is read of the whole machine.
type Machine struct {
	report.Machine
	Available int64         // bytes of memory
	Busy      time.Duration // CPU time that anybody used, since the start
}

// ReadMachine reads what the kernel tells.
func ReadMachine() (m Machine) {
	m.Cores, m.Go = runtime.NumCPU(), runtime.Version()
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}

	if all, err := fs.CPUInfo(); err == nil && len(all) > 0 {
		m.CPU = all[0].ModelName
	}
	if mem, err := fs.Meminfo(); err == nil && mem.MemTotal != nil && mem.MemAvailable != nil {
		m.Memory, m.Available = int64(*mem.MemTotal)<<10, int64(*mem.MemAvailable)<<10
	}
	if s, err := fs.Stat(); err == nil {
		t := &s.CPUTotal // guest time is in user time already
		seconds := t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal
		m.Busy = time.Duration(seconds * float64(time.Second))
	}

	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return m
}
