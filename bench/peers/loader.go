package main

import (
	"encoding/json"
	"fmt"
	"io"
	"syscall"
	"time"
)

// work is what a loader tells of itself: how much CPU time it took from the
// moment on at which it had read and sorted everything. That is the database's
// own work when it is a file, and a client's otherwise.
type work struct {
	CPU   time.Duration `json:"cpu"`
	began time.Duration
}

// begin marks the end of the preparations.
func (w *work) begin() { w.began = ownCPU() }

// prepare reads rows and makes marks.
func (w *work) prepare(rows string) (*columns, map[list]*marks, error) {
	c, err := readColumns(rows)
	if err != nil {
		return nil, nil, err
	}
	all, err := markAll(c, nil)
	w.begin()
	return c, all, err
}

// tell writes what was measured, for the process that waits for it.
func (w *work) tell(out io.Writer) error {
	w.CPU = ownCPU() - w.began
	if err := json.NewEncoder(out).Encode(w); err != nil {
		return fmt.Errorf("cannot say what loading took: %w", err)
	}
	return nil
}

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage of ourselves: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
