package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tidemark/edge/pages"
	"tidemark/storage/registry"
)

// SIGHUP puts in force what can change, names what cannot, and leaves all as it
// is when the file has a mistake.
func TestReload(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tidemark.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[limits]\ntotal-cap = 50\n[[plans]]\nid = \"free\"\nmonthly-units = 1000\n")
	n := startInstance(t, "--config", path)
	admin := &victim{t: t, dir: n.dir}
	admin.ask("POST", "/accounts", map[string]string{"name": "acme", "plan": "free"}, &registry.AccountView{})
	key := admin.issueKey("acme")

	// Every reload ends in a line.
	lines := 0
	reload := func(want ...string) {
		t.Helper()
		before := len(n.logs.String())
		n.signal(syscall.SIGHUP)
		lines++
		n.await("a reload", func() bool {
			text := n.logs.String()
			return strings.Count(text, "configuration reloaded")+strings.Count(text, "was not reloaded") == lines
		})
		said := n.logs.String()[before:]
		if strings.Contains(said, "no longer configured") {
			t.Errorf("the reload says %s; every chain is configured", said)
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("the reload says %s; want %q", said, w)
			}
		}
	}
	f := func(units int64, total string) {
		t.Helper()
		var usage registry.UsageView
		admin.ask("GET", "/usage/acme", nil, &usage)
		if usage.UnitsLimit == nil || *usage.UnitsLimit != units {
			t.Errorf("the quota of acme is %v; want %d", usage.UnitsLimit, units)
		}
		n.await("a total of "+total, func() bool { // of the next generation at the latest
			_, body, err := request(n.url+"/v1/positions?limit=1&includeRisky=true&minValueUsd=0&minPoolTvl=0", key)
			return err == nil && strings.Contains(body, `"total":`+total+",")
		})
	}
	f(1000, "50")

	reload(`"changed":"nothing"`)
	write("[limits]\ntotal-cap = 60\n[log]\nlevel = \"debug\"\n[metering]\nflush = \"3s\"\n" +
		"[[plans]]\nid = \"free\"\nmonthly-units = 2000\n")
	reload("limits.total-cap 60 (was 50)", `log.level \"debug\" (was \"info\")`, "plans",
		"a changed setting needs a restart", `"setting":"metering.flush"`, `"configured":"\"3s\""`)
	f(2000, "60")

	// A bad file changes nothing, whatever else it says.
	write("[limits]\ntotal-cap = 70\nfreshness = 5\n[[plans]]\nid = \"free\"\nmonthly-units = 3000\n")
	for range 2 { // the same mistake again is told again
		reload("was not reloaded; the one in force stays", "tidemark.toml:3: limits.freshness is 5")
	}
	f(2000, "60")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	reload("was not reloaded", "no such file")
	f(2000, "60")

	n.signal(syscall.SIGTERM)
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
	if !strings.Contains(n.logs.String(), "stopped a part") {
		t.Error("the new log level is not in force")
	}
}

// A SIGHUP that comes while a node still reads its configuration does not end it, and is
// followed by a reload once the node runs. Any other command it ends.
func TestHangupAtStart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	path := filepath.Join(t.TempDir(), "tidemark.toml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// A reader is awaited: the process is then within its loading.
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	write := func(f *os.File) {
		t.Helper()
		if _, err := f.WriteString("[log]\nlevel = \"debug\"\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}

	n := &instance{t: t, dir: filepath.Join(t.TempDir(), "data")}
	n.begin("--config", path)
	first := open()
	n.signal(syscall.SIGHUP)
	write(first)
	n.awaitBanner()
	write(open())
	n.await("the reload", func() bool { return strings.Contains(n.logs.String(), "configuration reloaded") })

	check := exec.Command("tidemark", "config", "check", "--config", path)
	if err := check.Start(); err != nil {
		t.Fatal(err)
	}
	defer open().Close()
	if err := check.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	err := check.Wait()
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGHUP {
		t.Errorf("config check ended with %v; want the end by SIGHUP", err)
	}
}

// A renewed certificate is presented at once after SIGHUP.
func TestReloadCertificate(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	dir := t.TempDir()
	files := TLSConfig{Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	writePair(t, files, "old.example")
	path := filepath.Join(dir, "tidemark.toml")
	text := fmt.Sprintf("[tls]\ncert = %q\nkey = %q\n", files.Cert, files.Key)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	n := startInstance(t, "--config", path)
	presented := func() string {
		t.Helper()
		address := strings.TrimPrefix(n.url, "https://")
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := presented(); got != "old.example" {
		t.Errorf("the certificate is of %s", got)
	}
	writePair(t, files, "new.example")
	n.signal(syscall.SIGHUP)
	n.await("the reload", func() bool { return strings.Contains(n.logs.String(), "configuration reloaded") })
	if got := presented(); got != "new.example" {
		t.Errorf("after SIGHUP the certificate is of %s", got)
	}
	if text := n.logs.String(); !strings.Contains(text, `"changed":"the certificate"`) {
		t.Errorf("the reload says %s", text)
	}
}

// A changed chain is told as a change of that chain alone.
func TestChangedChains(t *testing.T) {
	load := func() *loaded {
		t.Helper()
		l, err := loadConfig("", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}

	before := load().values()
	for i := range load().Chains {
		fresh := load()
		fresh.Chains[i].Name = "another"
		var changed []string
		for name, after := range fresh.values() {
			if before[name] != after {
				changed = append(changed, name)
			}
		}

		if want := fmt.Sprintf("chain %d", fresh.Chains[i].ID); !slices.Equal(changed, []string{want}) {
			t.Errorf("after a change of %s alone, %q have changed", want, changed)
		}
	}
}

// A reload tells each change once: what is in force then is what the next is compared
// with. What needs a restart is told every time.
func TestChangesAreToldOnce(t *testing.T) {
	var logs bytes.Buffer
	n := &node{loaded: &loaded{}, log: slog.New(slog.NewTextHandler(&logs, nil))}
	n.inForce = map[string]string{"drain": "5s", "plans": "a\n", "metering.flush": "1s", "chain 1": "b\n"}
	f := func(fresh map[string]string, want ...string) {
		t.Helper()
		logs.Reset()
		n.logChanges(n.log, fresh, nil)
		for _, text := range want {
			if !strings.Contains(logs.String(), text) {
				t.Errorf("%v: logged\n%s\nwant %q", fresh, &logs, text)
			}
		}
		if got := strings.Count(logs.String(), "\n"); got != len(want) {
			t.Errorf("%v: logged %d lines; want %d", fresh, got, len(want))
		}
	}

	f(map[string]string{"drain": "5s", "plans": "a\n", "metering.flush": "1s", "chain 1": "b\n"}, "file=none changed=nothing")
	fresh := map[string]string{"drain": "9s", "plans": "c\n", "metering.flush": "2s", "chain 1": "d\n"}
	flush := "restart; the old value stays in force\" setting=metering.flush inForce=1s configured=2s"
	chain := `setting="chain 1" inForce="a table" configured="a table"`
	f(fresh, flush, chain, `changed="drain 9s (was 5s), plans"`)
	f(fresh, flush, chain, "changed=nothing")
	delete(fresh, "chain 1")
	f(fresh, flush, `no longer configured runs until a restart" setting="chain 1"`, "changed=nothing")
}

// TestChangeableLimits checks that of the limits of pages a reload changes those that pages
// take from then on. Pages' own test says which those are.
func TestChangeableLimits(t *testing.T) {
	for _, s := range settingsOf("limits.", reflect.ValueOf(pages.DefaultLimits())) {
		fixed := slices.Contains([]string{"limits.unavailable-after", "limits.selections", "limits.queue"}, s.name)
		if slices.Contains(changeable, s.name) == fixed {
			t.Errorf("a reload changes %s: %t; want %t", s.name, !fixed, fixed)
		}
	}
}
