package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux that
// there is.
const tick = 10 * time.Millisecond

// processCPU returns the CPU time of a process and its threads; 0 when it is
// gone.
func processCPU(pid int) time.Duration {
	// Finer than /proc/PID/stat: nanoseconds on a CPU, summed over threads.
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, t := range threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
		if err != nil {
			continue // the thread has ended
		}
		on, _, _ := bytes.Cut(b, []byte{' '})
		n, err := strconv.ParseInt(string(on), 10, 64)
		if err == nil {
			sum += time.Duration(n)
		}
	}
	return max(sum, statCPU(pid))
}

// statCPU is processCPU from /proc/PID/stat: coarser, and it knows threads
// that have ended.
func statCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(b, []byte(") ")) // the name may hold anything
	fields := strings.Fields(string(after))
	const user, system = 11, 12 // counted from the state, the third of all
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.ParseInt(fields[user], 10, 64)
	s, _ := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(u+s) * tick
}

// machineCPU returns how much CPU time the whole machine has used.
func machineCPU() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	var busy int64
	for i, f := range strings.Fields(string(line)) {
		const idle, waiting, guest = 4, 5, 9 // guest time is in user time already
		if i == 0 || i == idle || i == waiting || i >= guest {
			continue
		}
		n, _ := strconv.ParseInt(f, 10, 64)
		busy += n
	}
	return time.Duration(busy) * tick
}

// resident returns the bytes of memory that a process holds; peak is the most
// it ever did.
func resident(pid int) (now, peak int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return kilobytes(b, "VmRSS:"), kilobytes(b, "VmHWM:")
}

// kilobytes reads a line of /proc such as "VmRSS:   1234 kB", in bytes.
func kilobytes(b []byte, name string) int64 {
	_, after, ok := bytes.Cut(b, []byte(name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(after, []byte{'\n'})
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return n << 10
}

// written returns the bytes that a process has sent to disks.
func written(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(b, []byte("\nwrite_bytes: "))
	line, _, _ := bytes.Cut(after, []byte{'\n'})
	n, _ := strconv.ParseInt(string(line), 10, 64)
	return n
}
