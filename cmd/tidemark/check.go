package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"tidemark/storage"
)

// Where in the data directory things stand.
const (
	marketDir   = "market"
	accountsDir = "accounts"
)

// CheckCmd checks a stopped node's data.
type CheckCmd struct {
	Data string `help:"Data directory." default:"./data" placeholder:"DIR"`
}

// Run prints every finding as a line and fails when there is one.
func (c *CheckCmd) Run() error {
	if _, err := os.Stat(filepath.Join(c.Data, marketDir)); err != nil {
		return fmt.Errorf("no data in %s: %w", c.Data, err)
	}
	findings, err := checkData(c.Data, os.Stdout)
	if err != nil {
		return err
	}
	if findings > 0 {
		return fmt.Errorf("%d findings in %s", findings, c.Data)
	}
	fmt.Println("no findings")
	return nil
}

func checkData(dir string, w io.Writer) (findings int, err error) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(filepath.Join(dir, marketDir), storage.Options{ReadOnly: true, Logger: quiet})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	lines, err := store.Check()
	if err != nil {
		return 0, err
	}
	books, err := storage.OpenAccounts(
		filepath.Join(dir, accountsDir), storage.AccountsOptions{ReadOnly: true, Logger: quiet})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, books.Close()) }()
	more, err := books.Check()
	if err != nil {
		return 0, err
	}
	for _, line := range append(lines, more...) {
		fmt.Fprintln(w, line)
	}
	return len(lines) + len(more), nil
}
