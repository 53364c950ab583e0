package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// testControl records what it was asked to do. Switching a chain off panics, and
// switching one on fails.
type testControl struct {
	asked []string
	log   bytes.Buffer
}

func (c *testControl) SetOffline(id market.ChainID, offline bool) error {
	if offline {
		panic("offline: here")
	}
	return errors.New("the chain is loading")
}

func (c *testControl) Rebuild(market.ChainID) error { return nil }

func (c *testControl) Resync(market.ChainID) error {
	c.asked = append(c.asked, "resync")
	return nil
}

func (c *testControl) Verify(
	_ context.Context, id market.ChainID, sample int,
) (*rankings.Verification, error) {
	c.asked = append(c.asked, fmt.Sprint("verify ", id, " ", sample))
	return &rankings.Verification{Block: 7, Compared: 9}, nil
}

func (c *testControl) Backup(dir string) error {
	c.asked = append(c.asked, "backup "+filepath.Base(dir))
	return nil
}

func newServer(t *testing.T, control *testControl) *Server {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)

	store, err := accountstore.Open("accounts", accountstore.Options{
		FS: vfs.NewMem(), Logger: quiet, Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}

	reg, err := registry.Open(store, accounts.DefaultPlans(), time.Now())
	if err != nil {
		t.Fatal(err)
	}

	return New(Config{
		Registry: reg, Control: control, Board: new(rankings.Board),
		Log:    slog.New(slog.NewTextHandler(&control.log, nil)),
		Health: func(market.ChainID) (status, reason string) { return "down", "no ranking has been published yet" },
		Chains: []Chain{{1, "Ethereum"}, {42161, "Arbitrum One"}},
	})
}

// TestMissingDirectory checks that the error of a directory that is not there names it,
// however long its path is.
func TestMissingDirectory(t *testing.T) {
	for _, dir := range []string{"gone", strings.Repeat("gone/", 40)} {
		path, done, err := shortPath(filepath.Join(t.TempDir(), dir))
		if len(dir) < maxSocketPath/2 {
			done()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), dir[:len(dir)-1]) {
			t.Errorf("%s: got %q, %v; want an error that names it", dir, path, err)
		}
	}
}

// TestStopWithoutSocket checks that a socket which somebody has removed fails no stop.
func TestStopWithoutSocket(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t, new(testControl))
	if err := s.Listen(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, SocketName)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stop = %v", err)
	}
}

// TestServer asks the socket for everything, in a short data directory and in one
// whose path is too long for a socket's address. A file that a killed node left
// behind is in the way.
func TestServer(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long/", 30))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stale, err := os.Create(filepath.Join(dir, SocketName))
		if err != nil {
			t.Fatal(err)
		}
		stale.Close()

		control := new(testControl)
		s := newServer(t, control)
		s.Ready = func() error { return errors.New("chain 1 is loading") }
		if err := s.Listen(dir); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, SocketName))
		if err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("mode of the socket = %v, %v; want 0600", info.Mode(), err)
		}

		askSocket(t, dir)
		if got := strings.Join(control.asked, ", "); got != "resync, verify 1 5, verify 42161 0, backup saved" {
			t.Errorf("the node was asked for %q", got)
		}
		checkActs(t, control.log.String())

		// Nothing is left of the socket after a stop, and only faults of the node
		// were logged.
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(control.log.String(), "admin request failed"); n != 2 {
			t.Errorf("%d failures are logged; want 2: %s", n, control.log.String())
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		if _, err := Dial(t.Context(), dir); err == nil {
			t.Error("the socket answers after its stop")
		}
	}
}

// TestDialNowhere checks that an error names the directory, also one whose path is too
// long for the address of a socket.
func TestDialNowhere(t *testing.T) {
	for _, name := range []string{"short", strings.Repeat("long", 30)} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := Dial(t.Context(), dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v; want an error that names %s", err, dir)
		}
	}
}

// checkActs checks that every act is a line of the log that names what it was done
// to, and no key.
func checkActs(t *testing.T, log string) {
	t.Helper()
	for _, want := range []string{
		`msg="account created" account=acme plan=growth`, `msg="account suspended" account=acme`,
		`msg="account resumed" account=acme`, `msg="account moved to another plan" account=acme plan=scale`,
		`msg="key issued" key=key_1 account=acme kind=server label=x`, `msg="key revoked" key=key_1`,
		`msg="chain dropped, to be indexed from its start" chain=1`, `msg="backup written" directory=`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}

	if strings.Contains(log, "tm_srv_") {
		t.Errorf("a key is in the log:\n%s", log)
	}
}

// askSocket sends a request to every route of the socket.
func askSocket(t *testing.T, dir string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, dir) },
	}}

	f := func(method, path, body string, status int, says string) {
		t.Helper()
		q, err := http.NewRequest(method, "http://admin"+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		got, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != status || !strings.Contains(string(got), says) {
			t.Errorf("%s %s = %d %s, %v; want %d with %s", method, path, r.StatusCode, got, err, status, says)
		}
	}

	name := "acme"
	f("POST", "/accounts", `{"name":"`+name+`","plan":"growth"}`, 200, `"plan":"growth"`)
	f("POST", "/accounts", `{"name":"`+name+`","plan":"growth"}`, 409, `"error"`)
	f("POST", "/accounts", `{"nam":"x"}`, 400, `unknown field`)
	f("POST", "/accounts", `{`, 400, `cannot read`)
	f("POST", "/accounts", ``, 400, `name`)
	f("GET", "/accounts", "", 200, `"name":"`+name+`"`)

	f("POST", "/keys", `{"account":"`+name+`","label":"x"}`, 200, `"key":"tm_srv_`)
	f("GET", "/keys?account="+name, "", 200, `"prefix":"tm_srv_`)
	f("GET", "/accounts/"+name, "", 200, `"keys":[{`)
	f("POST", "/accounts/"+name+"/suspend", "", 200, `"status":"suspended"`)
	f("POST", "/accounts/"+name+"/resume", "", 200, `"status":"active"`)
	f("POST", "/accounts/"+name+"/plan", `{"plan":"scale"}`, 200, `"plan":"scale"`)
	f("GET", "/usage/"+name, "", 200, `"unitsLimit":20000000`)
	f("GET", "/usage/"+name+"?month=2026-10", "", 200, `"unitsUsed":0`)
	f("GET", "/usage/nobody", "", 404, `nobody`)
	f("POST", "/keys/key_1/revoke", "", 200, `"status":"revoked"`)

	f("GET", "/chains", "", 200, `"chainId":42161,"name":"Arbitrum One","status":"down","reason":"no ranking has been published yet"`)
	f("POST", "/chains/7/resync", "", 404, `chain \"7\" is not enabled on this node; enabled are 1, 42161`)
	f("POST", "/chains/1/resync", "", 200, `"chainId":1`)
	f("POST", "/chains/1/online", "", 500, `the chain is loading`)
	f("POST", "/chains/1/offline", "", 500, `panic: offline: here`)

	f("POST", "/chains/7/verify", "", 404, `chain \"7\" is not enabled`)
	f("POST", "/chains/1/verify?sample=5", "", 200, `"compared":9`)
	f("POST", "/chains/42161/verify", "", 200, `"compared":9`)
	f("POST", "/chains/1/verify?sample=-1", "", 400, `sample is \"-1\"; it must be a whole number, 0 or more`)
	f("POST", "/accounts", `{"name":"`+strings.Repeat("x", maxBody)+`"}`, 400, `too large`)
	f("POST", "/accounts/acme/plan", `{`, 400, `cannot read`)
	f("POST", "/keys", `{`, 400, `cannot read`)
	f("GET", "/ready", "", 200, `{"ready":false,"reason":"chain 1 is loading"}`)

	f("POST", "/backup?dir=saved", "", 400, `absolute`)
	saved := filepath.Join(t.TempDir(), "saved")
	f("POST", "/backup?dir="+saved, "", 200, `"dir":"`+saved+`"`)
	f("POST", "/backup?dir="+saved, "", 409, `exists`)
}
