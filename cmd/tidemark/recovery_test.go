package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/edge/admin"
	"tidemark/edge/consistency"
	"tidemark/storage"
	"tidemark/storage/registry"
)

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
	want := "restore the backup of " + at + ": move " + data + " away, then `tidemark restore " + saved + " --data " + data + "`"
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
	var lost error = new(storage.AccountsLost)
	f(adviseAccounts("data", lost), lost, "restore a backup", "tidemark serve --accept-lost-accounts")
	var broken error = &storage.AccountsDamage{Err: other}
	f(adviseAccounts("data", broken), broken, "restore a backup", "move data/"+accountsDir+" away", "--accept-lost-accounts")
}

// The tables that commands print have every column, and a dash for what there is not.
func TestTables(t *testing.T) {
	f := func(show func(*bytes.Buffer), want ...string) {
		t.Helper()
		var out bytes.Buffer
		show(&out)
		if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("printed %q; want %q", got, want)
		}
	}

	used := "2026-11-21T08:00:00.000Z"
	keys := []registry.KeyView{
		{ID: "key_1", Prefix: "tm_srv_ab", Kind: "server", Account: "acme", Status: "active", CreatedAt: "then", Label: "x"},
		{ID: "key_2", Prefix: "tm_web_cd", Kind: "browser", Account: "acme", Status: "revoked", CreatedAt: "then",
			LastUsedAt: &used, AllowedOrigins: []string{"https://a", "https://b"}},
	}
	f(func(out *bytes.Buffer) { showKeys(out, &keys) },
		"ID\tPREFIX\tKIND\tACCOUNT\tSTATUS\tCREATED\tLAST USED\tORIGINS\tLABEL",
		"key_1\ttm_srv_ab…\tserver\tacme\tactive\tthen\t-\t-\tx",
		"key_2\ttm_web_cd…\tbrowser\tacme\trevoked\tthen\t"+used+"\thttps://a https://b\t")
	account := registry.AccountView{Name: "acme", Plan: "free", Status: "active", ActiveKeys: 2, CreatedAt: "then"}
	f(func(out *bytes.Buffer) { showAccount(out, &account) },
		"NAME\tPLAN\tSTATUS\tACTIVE KEYS\tCREATED", "acme\tfree\tactive\t2\tthen")
	blocks, seconds := uint64(5), int64(61)
	chains := []admin.ChainView{
		{ChainID: 1, Name: "Ethereum", Status: "ok", Generation: 6, LastIndexedBlock: 95, ChainHeadBlock: 100,
			LagBlocks: &blocks, LagSeconds: &seconds},
		{ChainID: 2, Name: "Two", Status: "down", Reason: "it is new"},
	}
	f(func(out *bytes.Buffer) { showChains(out, &chains) },
		"CHAIN\tNAME\tSTATUS\tGENERATION\tINDEXED\tHEAD\tBEHIND\tREASON",
		"1\tEthereum\tok\t6\t95\t100\t5 blocks, 1 minute 1 second\t-",
		"2\tTwo\tdown\t0\t0\t0\tunknown\tit is new")

	report := &consistency.Report{
		Rules: map[string]int64{"b": 7, "a": 12}, Broken: map[string]int64{"a": 3}, Skipped: []string{"nothing"},
		Different: 3, Values: 19, Positions: 1, Pools: 2, Requests: 4,
	}
	f(func(out *bytes.Buffer) { printReport(out, report) },
		"and 3 more differences", "        12 values,      3 different: a", "         7 values,      0 different: b",
		"not checked: nothing", "1 positions, 2 pools, 4 requests, 19 values, 3 different")
}

// A name is one part of a path, whatever is in it.
func TestAccountPath(t *testing.T) {
	if got := accountPath("a/b c"); got != "/accounts/a%2Fb%20c" {
		t.Errorf("the path is %s", got)
	}
}
