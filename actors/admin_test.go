package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"tidemark/storage/accounts"
)

func TestAdminRefusals(t *testing.T) {
	r := newRig(t, vfs.NewMem(), testStart)
	a := r.admin
	f := func(err error, status int, says ...string) {
		t.Helper()
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Status != status {
			t.Errorf("error = %v; want a refusal with %d", err, status)
			return
		}
		for _, s := range says {
			if !strings.Contains(refusal.Message, s) {
				t.Errorf("refusal %q does not say %q", refusal.Message, s)
			}
		}
	}
	account := func(_ AccountView, err error) error { return err }
	key := func(_ IssuedKey, err error) error { return err }

	f(account(a.CreateAccount("Acme", "free")), 400, `"Acme"`)
	f(account(a.CreateAccount("", "free")), 400)
	f(account(a.CreateAccount("acme", "gold")), 400, `"gold"`, "free, starter, growth, scale, unlimited")
	if err := account(a.CreateAccount("acme", "free")); err != nil {
		t.Fatal(err)
	}
	f(account(a.CreateAccount("acme", "free")), 409, "another name")
	f(account(a.Suspend("nobody")), 404, `"nobody"`)

	f(key(a.IssueKey(KeyRequest{Account: "nobody"})), 404)
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "desktop"})), 400, "server or browser")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Origins: []string{"https://a.example"}})), 400, "--kind browser")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://a.example"}})),
		409, "plan free", "server key", "growth, scale, starter, unlimited")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Label: strings.Repeat("x", 101)})), 400, "100")
	for range 2 {
		if err := key(a.IssueKey(KeyRequest{Account: "acme"})); err != nil {
			t.Fatal(err)
		}
	}
	f(key(a.IssueKey(KeyRequest{Account: "acme"})), 409, "2 active keys", "revoke one", "starter")

	if err := account(a.SetPlan("acme", "starter")); err != nil {
		t.Fatal(err)
	}
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser"})), 400, "at least one origin")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://a.example/x"}})), 400, "path")
	web, err := a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"A.example", "https://a.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(web.AllowedOrigins) != 1 || web.AllowedOrigins[0] != "https://a.example" {
		t.Errorf("origins = %q; want one, canonical", web.AllowedOrigins)
	}
	f(account(a.SetPlan("acme", "free")), 409, web.ID)
	if _, err := a.RevokeKey(web.ID); err != nil {
		t.Fatal(err)
	}
	if err := account(a.SetPlan("acme", "free")); err != nil {
		t.Errorf("after its browser key was revoked: %v", err)
	}
	_, err = a.RevokeKey("key_99")
	f(err, 404)
	_, err = a.Usage("acme", "2026-13")
	f(err, 400)
}

// What is administered is in force at once, and again after a kill.
func TestAdminTakesEffect(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	a := r.admin
	if _, err := a.CreateAccount("acme", "starter"); err != nil {
		t.Fatal(err)
	}
	server, err := a.IssueKey(KeyRequest{Account: "acme", Label: "backend"})
	if err != nil {
		t.Fatal(err)
	}
	web, err := a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://app.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(what, key string, want accounts.Reason, listed bool) {
		t.Helper()
		for _, at := range []*rig{r, r.crash(0)} {
			if _, got := at.admin.book.Resolve([]byte(key)); got != want {
				t.Errorf("%s: reason %d; want %d", what, got, want)
			}
			if got := at.admin.book.Listed([]byte("https://app.example.com")); got != listed {
				t.Errorf("%s: listed %v; want %v", what, got, listed)
			}
		}
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f("issued", server.Key, accounts.Accepted, true)
	do(a.Suspend("acme"))
	do(a.Suspend("acme"))
	f("suspended", server.Key, accounts.Suspended, false)
	do(a.RevokeKey(web.ID))
	do(a.Resume("acme"))
	f("resumed", server.Key, accounts.Accepted, false)
	f("resumed, revoked", web.Key, accounts.Revoked, false)
	do(a.RevokeKey(server.ID))
	do(a.RevokeKey(server.ID))
	f("revoked", server.Key, accounts.Revoked, false)

	list, err := a.KeyList("acme")
	if err != nil || len(list) != 2 || list[0].Prefix != server.Key[:16] || list[0].Status != "revoked" {
		t.Errorf("keys = %+v, %v", list, err)
	}
	if all, err := a.KeyList(""); err != nil || len(all) != 2 {
		t.Errorf("all keys = %+v, %v", all, err)
	}
	if text, _ := json.Marshal(list); strings.Contains(string(text), server.Key) {
		t.Error("a list shows a whole key")
	}
}

func TestLastUsed(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	k := r.account("acme", "free")
	r.spend(k, 1, 1)
	r.pass(testFlush)
	list, err := r.crash(0).admin.KeyList("acme")
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0].LastUsedAt; got == nil || *got != "2026-11-21T08:00:00.000Z" {
		t.Errorf("last used %v; want the minute", got)
	}
}

func TestDemo(t *testing.T) {
	r := newRig(t, vfs.NewCrashableMem(), testStart)
	key, created, err := r.admin.Demo()
	if err != nil || !created || !strings.HasPrefix(key, "tm_srv_") {
		t.Fatalf("Demo = %q, %v, %v", key, created, err)
	}
	again := r.crash(0)
	if k, reason := again.admin.book.Resolve([]byte(key)); reason != accounts.Accepted ||
		k.Cell.Name != "demo" || k.Cell.Terms().Plan.ID != "unlimited" {
		t.Errorf("the demo key resolves to %+v, %d", k, reason)
	}
	if key, created, err := again.admin.Demo(); key != "" || created || err != nil {
		t.Errorf("the second Demo = %q, %v, %v; want nothing", key, created, err)
	}
}

// A plan that accounts have and the configuration does not stops the start.
func TestUnknownPlan(t *testing.T) {
	r := newRig(t, vfs.NewMem(), testStart)
	r.account("acme", "small")
	_, err := OpenAdmin(r.store, accounts.DefaultPlans(), testStart)
	if err == nil || !strings.Contains(err.Error(), "acme") || !strings.Contains(err.Error(), `"small"`) {
		t.Errorf("error = %v; want one that names account and plan", err)
	}
}

func TestAdminSocket(t *testing.T) {
	r := newRig(t, vfs.NewMem(), testStart)
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long/", 30))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stale, err := os.Create(filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		stale.Close()
		s := NewAdminSocket(r.admin, slog.New(slog.DiscardHandler))
		s.Handle("GET /panic", func(*http.Request) (any, error) { panic("here") })
		if err := s.Listen(dir); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, socketName))
		if err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("mode of the socket = %v, %v; want 0600", info.Mode(), err)
		}
		askSocket(t, dir, len(dir))
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		if _, err := DialAdmin(t.Context(), dir); err == nil {
			t.Error("the socket answers after its stop")
		}
	}
}

// askSocket asks for everything the socket serves.
func askSocket(t *testing.T, dir string, n int) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return DialAdmin(ctx, dir) },
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
	name := "acme" + strings.Repeat("e", n%7)
	f("POST", "/accounts", `{"name":"`+name+`","plan":"growth"}`, 200, `"plan":"growth"`)
	f("POST", "/accounts", `{"name":"`+name+`","plan":"growth"}`, 409, `"error"`)
	f("POST", "/accounts", `{"nam":"x"}`, 400, `unknown field`)
	f("POST", "/accounts", `{`, 400, `cannot read`)
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
	f("GET", "/panic", "", 500, `panic: here`)
}
