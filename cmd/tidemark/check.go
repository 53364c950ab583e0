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
	"tidemark/storage/accountstore"
)

// Where in the data directory things stand.
const (
	marketDir   = "market"
	accountsDir = "accounts"
)

// CheckCmd checks a stopped node's data, or a running node's answers.
type CheckCmd struct {
	Data string `help:"Directory of a stopped node." default:"./data" env:"TIDEMARK_DATA" type:"data" placeholder:"DIR"`

	URL      string        `name:"url" help:"Check the answers of a running node instead." placeholder:"URL"`
	Key      string        `help:"API key for --url." env:"TIDEMARK_CHECK_KEY" placeholder:"KEY"`
	Sample   int           `help:"Positions of a chain to look at one by one; 0: all."`
	Requests int           `help:"Most requests to send." default:"200000"`
	TotalCap int           `help:"limits.total-cap of that node." default:"25000"`
	Timeout  time.Duration `help:"How long one answer may take." default:"30s"`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Run prints every finding as a line and fails when there is one.
func (c *CheckCmd) Run() error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	if c.URL != "" {
		return c.checkURL()
	}
	if _, err := os.Stat(filepath.Join(c.Data, marketDir)); err != nil {
		return fmt.Errorf("no data in %s: %w", c.Data, err)
	}

	findings, err := checkData(c.Data)
	if err == nil || len(findings) > 0 {
		err = errors.Join(c.print(os.Stdout, findings), err)
	}
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return fmt.Errorf("%d findings in %s", len(findings), c.Data)
	}
	return nil
}

// checkFlags refuses what cannot be meant.
func (c *CheckCmd) checkFlags() error {
	for _, n := range []struct {
		name         string
		value, least int
	}{{"sample", c.Sample, 0}, {"requests", c.Requests, 1}, {"total-cap", c.TotalCap, 1}} {
		if n.value < n.least {
			return fmt.Errorf("--%s is %d; allowed is a whole number from %d on", n.name, n.value, n.least)
		}
	}

	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout is %s; allowed is a duration above 0s, such as 30s", c.Timeout)
	}
	if c.URL != "" && !isURL(c.URL, "http", "https") {
		return fmt.Errorf("--url is %q; allowed is http://HOST:PORT, or https", c.URL)
	}
	return nil
}

func (c *CheckCmd) print(w io.Writer, findings []string) error {
	if c.JSON {
		return printJSON(w, struct {
			Findings []string `json:"findings"`
		}{append([]string{}, findings...)})
	}

	if len(findings) == 0 {
		findings = []string{"no findings"}
	}
	return printLines(w, findings)
}

func printLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// checkData returns every finding of both stores and of the archives. Damage is a finding
// too: what one has of it keeps nobody from checking the others. With an error come the
// findings until then.
func checkData(dir string) (findings []string, err error) {
	for _, check := range []func(string) ([]string, error){checkMarket, checkAccounts, checkArchives} {
		list, err := check(dir)
		findings = append(findings, list...)
		if err != nil {
			return findings, err
		}
	}
	return findings, nil
}

func checkMarket(dir string) (findings []string, err error) {
	log := slog.New(slog.DiscardHandler) // findings have all of it
	store, err := storage.Open(filepath.Join(dir, marketDir), storage.Options{ReadOnly: true, Logger: log})
	if err == nil {
		findings, err = store.Check()
		err = errors.Join(err, store.Close())
	}
	if advised := adviseMarket(dir, err); advised != err {
		return append(findings, "market: "+advised.Error()), nil
	}
	return findings, err
}

func checkAccounts(dir string) (findings []string, err error) {
	store, err := accountstore.Open(filepath.Join(dir, accountsDir),
		accountstore.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		findings, err = store.Check()
		err = errors.Join(err, store.Close())
	}
	if advised := adviseAccounts(dir, err); advised != err {
		return append(findings, advised.Error()), nil
	}
	return findings, err
}
