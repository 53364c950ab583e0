package main

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// screen is standard error with a line of progress at its end, when it is a
// terminal. Log lines go above it.
type screen struct {
	file       *os.File
	isTerminal bool

	mu   sync.Mutex
	line string
}

func newScreen(f *os.File) *screen {
	return &screen{file: f, isTerminal: term.IsTerminal(int(f.Fd()))}
}

// clearLine moves to the start of the line and erases it.
const clearLine = "\r\x1b[K"

// Write writes log lines above the line of progress.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.file.Write(p)
	}
	if _, err := fmt.Fprintf(s.file, "%s%s%s", clearLine, p, s.line); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the line of progress; an empty one removes it.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isTerminal && line != s.line {
		s.line = line
		fmt.Fprint(s.file, clearLine, line) // a terminal that is gone shows nothing
	}
}
