//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// writeTo makes a file, and its directory.
func writeTo(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return errors.Join(write(f), f.Close())
}

// checkOutputs returns an error when one of the files, or files in one of the directories,
// could not be written: a long run is to notice that before it starts. It makes the
// directories that are missing, and nothing else. An empty path stands for no output.
func checkOutputs(files, dirs []string) error {
	for i, path := range files {
		if path == "" {
			continue
		}
		if err := checkOutput(path); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		if slices.Contains(files[:i], path) {
			return fmt.Errorf("cannot write two outputs to %s", path)
		}
	}

	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if err := checkDirectory(dir); err != nil {
			return fmt.Errorf("cannot write files in %s: %w", dir, err)
		}
	}
	return nil
}

func checkOutput(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return checkDirectory(filepath.Dir(path))
	case err != nil:
		return err
	case info.IsDir():
		return unix.EISDIR
	}
	return unix.Access(path, unix.W_OK)
}

// checkDirectory makes a directory if it is missing.
func checkDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}

// ownCommand is a command line as a shell takes it, with KEY instead of the key.
func ownCommand(args []string) string {
	var words []string
	for i, arg := range args {
		switch {
		case i > 0 && args[i-1] == "--key":
			arg = "KEY"
		case strings.HasPrefix(arg, "--key="):
			arg = "--key=KEY"
		}
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}
