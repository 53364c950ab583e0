package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Log lines go above the line of progress, which never stands in them.
func TestScreen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{file: w, isTerminal: true}
	s.Write([]byte("one\n"))
	s.show("50 %")
	s.Write([]byte("two\n"))
	s.show("")
	s.Write([]byte("three\n"))
	w.Close()

	var said bytes.Buffer
	said.ReadFrom(r)
	want := "one\n" + clearLine + "50 %" + clearLine + "two\n50 %" + clearLine + "three\n"
	if said.String() != want {
		t.Errorf("written %q; want %q", said.String(), want)
	}

	s.show("60 %")
	if n, err := s.Write([]byte("four\n")); err == nil || n != 0 {
		t.Errorf("a terminal that is gone took %d bytes, %v", n, err)
	}
}

// Elsewhere than on a terminal nothing but the lines of the log is written.
func TestScreenOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	s := newScreen(file)
	s.show("50 %")
	if n, err := s.Write([]byte("one\n")); n != 4 || err != nil {
		t.Errorf("%d bytes were written, %v", n, err)
	}
	s.show("")
	if said, err := os.ReadFile(path); err != nil || string(said) != "one\n" {
		t.Errorf("written %q, %v", said, err)
	}
}
