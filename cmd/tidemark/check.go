package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark/storage"
)

// Where in the data directory things stand.
const (
	marketDir   = "market"
	accountsDir = "accounts"
)

// CheckCmd checks a stopped node's data, or a running node's answers.
type CheckCmd struct {
	Data     string        `help:"Data directory of a stopped node." default:"./data" placeholder:"DIR"`
	URL      string        `name:"url" help:"Check the answers of a running node instead." placeholder:"URL"`
	Key      string        `help:"API key for --url, of a plan without limits." env:"TIDEMARK_CHECK_KEY" placeholder:"KEY"`
	Sample   int           `help:"Positions of a chain to look at one by one; 0: all."`
	Requests int           `help:"Most requests to send." default:"200000"`
	Timeout  time.Duration `help:"How long one answer may take." default:"30s"`
	JSON     bool          `name:"json" help:"Print JSON, for --url."`
}

// Run prints every finding as a line and fails when there is one.
func (c *CheckCmd) Run() error {
	if c.URL != "" {
		return c.checkURL()
	}
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
