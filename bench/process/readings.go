package process

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Readings of a process that is gone, or of a kernel that does not tell, are 0.

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// CPU returns the CPU time of a process, its descendants, and those of them
// that have ended and were waited for.
func CPU(pid int) time.Duration {
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
	for tree := []int{pid}; len(tree) > 0; tree = tree[1:] {
		sum += processCPU(tree[0])
		tree = append(tree, children[tree[0]]...)
	}
	return sum
}

// processCPU is a process with its ended children. What its threads used is
// known in nanoseconds; the process's own figure is coarser, and includes
// threads that have ended.
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

// Resident returns the bytes of memory that a process holds; peak is the most
// it ever did.
func Resident(pid int) (now, peak uint64) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0
	}
	s, err := p.NewStatus()
	if err != nil {
		return 0, 0
	}
	return s.VmRSS, s.VmHWM
}

// Written returns the bytes that a process has sent to disks.
func Written(pid int) uint64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	io, err := p.IO()
	if err != nil {
		return 0
	}
	return io.WriteBytes
}

// Own returns the CPU time of this process and of its children that have ended.
func Own() time.Duration { return usage(unix.RUSAGE_SELF) + usage(unix.RUSAGE_CHILDREN) }

func usage(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		panic("BUG: getrusage of ourselves: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Machine is what is read of the whole machine.
type Machine struct {
	Model             string // of the processor
	Kernel            string
	Memory, Available int64         // bytes
	Busy              time.Duration // CPU time that anybody used, since the start
}

// ReadMachine reads what the kernel tells.
func ReadMachine() (m Machine) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}

	if all, err := fs.CPUInfo(); err == nil && len(all) > 0 {
		m.Model = all[0].ModelName
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
