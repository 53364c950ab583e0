package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/edge/consistency"
	"tidemark/storage"
	"tidemark/storage/accountstore"
)

// A backup that is complete is kept, also where the data directory has no room for the note
// of it.
func TestBackupWithoutNote(t *testing.T) {
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "saved")
	quiet := slog.New(slog.DiscardHandler)
	chains, err := storage.Open(filepath.Join(data, marketDir), storage.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer chains.Close()
	books, err := accountstore.Open(filepath.Join(data, accountsDir), accountstore.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer books.Close()
	for _, taken := range []string{dir, filepath.Join(data, lastBackupFile)} {
		if err := os.Mkdir(taken, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	var log bytes.Buffer
	c := control{data: data, market: chains, accounts: books, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := c.Backup(dir); err != nil || !strings.Contains(log.String(), "cannot note where the backup is") {
		t.Errorf("backup = %v; logged %s", err, &log)
	}
}

// Who has to restore a backup reads which one there is, and only one that is still there.
func TestRestoreAdvice(t *testing.T) {
	data, saved := t.TempDir(), filepath.Join(t.TempDir(), "saved in a place")
	none := "restore a backup (none is known): move " + data + " away, then `tidemark restore BACKUP --data " + data + "`"
	if got := restoreAdvice(data); got != none {
		t.Errorf("without a backup: %s; want %s", got, none)
	}

	if err := os.Mkdir(saved, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := noteBackup(data, saved); err != nil {
		t.Fatal(err)
	}
	dir, at := lastBackup(data)
	if dir != saved || len(at) != len("2026-01-02T15:00:00Z") || !strings.HasSuffix(at, "Z") {
		t.Errorf("the last backup is %q of %q", dir, at)
	}
	want := "restore the backup of " + at + ": move " + data + " away, then `tidemark restore '" + saved + "' --data " +
		data + "`"
	if got := restoreAdvice(data); got != want {
		t.Errorf("with a backup: %s; want %s", got, want)
	}
	if err := os.Remove(saved); err != nil {
		t.Fatal(err)
	}
	if got := restoreAdvice(data); got != none {
		t.Errorf("with a backup that is gone: %s; want %s", got, none)
	}
}

// Each damage has its way out; any other error stays as it is.
func TestDamageAdvice(t *testing.T) {
	f := func(got, err error, want ...string) {
		t.Helper()
		if len(want) == 0 && got != err || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
		for _, text := range want {
			if !strings.Contains(got.Error(), text) {
				t.Errorf("%v: %v; want %q", err, got, text)
			}
		}
	}

	other := errors.New("permission denied")
	f(adviseMarket("data", other), other)
	f(adviseAccounts("data", other), other)
	format := fmt.Errorf("it is of format 99: %w", storage.ErrFormat)
	f(adviseMarket("data", format), format, "start the build that wrote it, or move data/"+marketDir+" away")
	damaged := fmt.Errorf("bad: %w", storage.ErrDamaged)
	f(adviseMarket("data", damaged), damaged, "it moves the damaged files to data/"+marketDir+".damaged", "restore a backup")
	var lost error = new(accountstore.Lost)
	f(adviseAccounts("data", lost), lost, "restore a backup", "tidemark serve --accept-lost-accounts")
	var broken error = &accountstore.Damage{Err: other}
	f(adviseAccounts("data", broken), broken, "restore a backup", "move data/"+accountsDir+" away", "--accept-lost-accounts")
}

// TestCheckFindsAccounts: the check of accounts tells what does not agree in them, and that they
// cannot be opened.
func TestCheckFindsAccounts(t *testing.T) {
	data := t.TempDir()
	if findings, err := checkAccounts(data); err == nil || len(findings) > 0 {
		t.Errorf("without accounts there are the findings %q, %v; want an error", findings, err)
	}

	store, err := accountstore.Open(filepath.Join(data, accountsDir), accountstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Put([]accountstore.AccountRecord{{ID: 1, Name: "twin"}, {ID: 2, Name: "twin"}}, nil)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	want := []string{`accounts: accounts 1 and 2 are both named "twin"`}
	if findings, err := checkAccounts(data); err != nil || !slices.Equal(findings, want) {
		t.Errorf("the findings are %q, %v; want %q", findings, err, want)
	}
}

// A report of answers that were compared has a line for every difference that is listed,
// then what was compared.
func TestReportIsPrinted(t *testing.T) {
	report := &consistency.Report{
		Rules: map[string]int64{"b": 7, "a": 12}, Broken: map[string]int64{"a": 3}, Skipped: []string{"nothing"},
		Different: 3, Values: 19, Positions: 1, Pools: 2, Requests: 4,
		Listed: []consistency.Difference{{Rule: "a", Route: "/v1/pools", Field: "tvlUsd", Got: "1", Want: "2"}},
	}
	f := func(want ...string) {
		t.Helper()
		var out bytes.Buffer
		printReport(&out, report)
		if got := out.String(); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("printed\n%s", got)
		}
	}

	rules := []string{
		"        12 values,      3 different: a", "         7 values,      0 different: b",
		"not checked: nothing", "1 positions, 2 pools, 4 requests, 19 values, 3 different",
	}
	listed := "a: /v1/pools: tvlUsd is 1; want 2"
	f(append([]string{listed, "and 2 more differences"}, rules...)...)
	for range 2 {
		report.Listed = append(report.Listed, report.Listed[0])
	}
	f(append([]string{listed, listed, listed}, rules...)...)
}

// A name is one part of a path, whatever is in it.
func TestAccountPath(t *testing.T) {
	if got := accountPath("a/b c"); got != "/accounts/a%2Fb%20c" {
		t.Errorf("the path is %s", got)
	}
}
