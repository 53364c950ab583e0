package main

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

// treeCPU returns the CPU time of a process, its descendants, and those of
// them that have ended and were waited for.
func treeCPU(pid int) time.Duration {
	sum := processCPU(pid)
	for _, id := range childrenOf(pid) {
		sum += treeCPU(id)
	}
	return sum
}

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) (ids []int) {
	for _, t := range threadsOf(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(field); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func threadsOf(pid int) (names []string) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// processCPU is a process with its ended children. What its threads used is
// known in nanoseconds; /proc/PID/stat is coarser, and knows threads that have
// ended.
func processCPU(pid int) time.Duration {
	var fine time.Duration
	for _, t := range threadsOf(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t))
		if err != nil {
			continue
		}
		on, _, _ := bytes.Cut(b, []byte{' '})
		if n, err := strconv.ParseInt(string(on), 10, 64); err == nil {
			fine += time.Duration(n)
		}
	}
	own, ended := statCPU(pid)
	return max(fine, own) + ended
}

func statCPU(pid int) (own, ended time.Duration) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, after, _ := bytes.Cut(b, []byte(") ")) // the name may hold anything
	fields := strings.Fields(string(after))
	const first = 11 // user, system, and both of ended children; counted from the state
	var ticks [4]int64
	for i := range ticks {
		if first+i < len(fields) {
			ticks[i], _ = strconv.ParseInt(fields[first+i], 10, 64)
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * tick, time.Duration(ticks[2]+ticks[3]) * tick
}

// memoryAvailable returns the bytes that programs may still take.
func memoryAvailable() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(b, []byte("MemAvailable:"))
	line, _, _ := bytes.Cut(after, []byte{'\n'})
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return n << 10
}
