package registry

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

var testStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// openRegistry opens a registry on a file system in memory.
func openRegistry(t *testing.T, fs *vfs.MemFS, plans []accounts.Plan) (*Registry, error) {
	t.Helper()
	return Open(openStore(t, fs), plans, testStart)
}

func openStore(t *testing.T, fs *vfs.MemFS) *accountstore.Store {
	t.Helper()
	store, err := accountstore.Open("accounts", accountstore.Options{
		FS: fs, Logger: slog.New(slog.DiscardHandler), Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func newRegistry(t *testing.T, fs *vfs.MemFS) *Registry {
	t.Helper()
	r, err := openRegistry(t, fs, accounts.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crashClone returns the disk after a kill, without any unsynced data.
func crashClone(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(1, 7))})
}

func TestRefusals(t *testing.T) {
	a := newRegistry(t, vfs.NewMem())
	f := func(err error, kind Kind, says ...string) {
		t.Helper()
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Kind != kind {
			t.Errorf("error = %v; want a refusal of kind %d", err, kind)
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

	f(account(a.CreateAccount("Acme", "free")), Invalid, `"Acme"`)
	f(account(a.CreateAccount("", "free")), Invalid)
	f(account(a.CreateAccount("acme", "gold")), Invalid, `"gold"`, "free, starter, growth, scale, unlimited")
	if err := account(a.CreateAccount("acme", "free")); err != nil {
		t.Fatal(err)
	}
	f(account(a.CreateAccount("acme", "free")), Conflict, "another name")
	f(account(a.Suspend("nobody")), NotFound, `"nobody"`)

	f(key(a.IssueKey(KeyRequest{Account: "nobody"})), NotFound)
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "desktop"})), Invalid, "server or browser")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Origins: []string{"https://a.example"}})), Invalid, "--kind browser")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://a.example"}})),
		Conflict, "plan free", "server key", "growth, scale, starter, unlimited")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Label: strings.Repeat("x", 101)})), Invalid, "100")
	for _, label := range []string{"two\nlines", "a\ttab", "\x1b[31mred", "\x7f", "\u0085"} {
		f(key(a.IssueKey(KeyRequest{Account: "acme", Label: label})), Invalid, "the label has a control character")
	}
	for _, label := range []string{"", strings.Repeat("ü", maxLabel)} {
		if err := key(a.IssueKey(KeyRequest{Account: "acme", Label: label})); err != nil {
			t.Fatal(err)
		}
	}
	f(key(a.IssueKey(KeyRequest{Account: "acme"})), Conflict, "2 active keys", "revoke one", "starter")

	if err := account(a.SetPlan("acme", "starter")); err != nil {
		t.Fatal(err)
	}
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser"})), Invalid, "at least one origin")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://a.example/x"}})), Invalid, "path")
	f(key(a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: make([]string, accounts.MaxOrigins+1)})),
		Invalid, "too many origins: 51; a key lists at most 50")
	web, err := a.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"A.example", "https://a.example"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(web.AllowedOrigins) != 1 || web.AllowedOrigins[0] != "https://a.example" {
		t.Errorf("origins = %q; want one, canonical", web.AllowedOrigins)
	}
	f(account(a.SetPlan("acme", "free")), Conflict, web.ID)
	if _, err := a.RevokeKey(web.ID); err != nil {
		t.Fatal(err)
	}
	if err := account(a.SetPlan("acme", "free")); err != nil {
		t.Errorf("after its browser key was revoked: %v", err)
	}
	_, err = a.RevokeKey("key_99")
	f(err, NotFound)
	_, err = a.Usage("acme", "2026-13")
	f(err, Invalid)
}

// Changes apply at once and survive a kill.
func TestTakesEffect(t *testing.T) {
	fs := vfs.NewCrashableMem()
	a := newRegistry(t, fs)
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
		for _, at := range []*Registry{a, newRegistry(t, crashClone(fs))} {
			if _, got := at.book.Resolve([]byte(key)); got != want {
				t.Errorf("%s: reason %d; want %d", what, got, want)
			}
			if got := at.book.Listed([]byte("https://app.example.com")); got != listed {
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

func TestCreateDemo(t *testing.T) {
	fs := vfs.NewCrashableMem()
	r := newRegistry(t, fs)
	if created, err := r.CreateDemo(); !created || err != nil || r.PrintedKey() != "" {
		t.Fatalf("CreateDemo = %v, %v; printed %q", created, err, r.PrintedKey())
	}
	key, err := r.IssueDemoKey()
	if err != nil || !strings.HasPrefix(key, "tm_srv_") || r.PrintedKey() != "key_1" {
		t.Fatalf("IssueDemoKey = %q, %v; printed %q", key, err, r.PrintedKey())
	}

	again := newRegistry(t, crashClone(fs))
	if k, reason := again.book.Resolve([]byte(key)); reason != accounts.Accepted ||
		k.Cell.Name != "demo" || k.Cell.Terms().Plan.ID != "unlimited" {
		t.Errorf("the demo key resolves to %+v, %d", k, reason)
	}
	if created, err := again.CreateDemo(); created || err != nil {
		t.Errorf("the second CreateDemo = %v, %v; want nothing", created, err)
	}

	if id := again.PrintedKey(); id != "key_1" {
		t.Errorf("the printed key after a restart is %q", id)
	}
	if _, err := again.RevokeKey("key_1"); err != nil || again.PrintedKey() != "" {
		t.Errorf("revoked: %v, printed %q", err, again.PrintedKey())
	}
}

// The start fails if an account has a plan that the configuration lacks.
func TestUnknownPlan(t *testing.T) {
	small := accounts.Plan{ID: "small", MaxAPIKeys: 1}
	fs := vfs.NewMem()
	r, err := openRegistry(t, fs, []accounts.Plan{small})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CreateAccount("acme", "small"); err != nil {
		t.Fatal(err)
	}

	empty, err := openRegistry(t, vfs.NewMem(), []accounts.Plan{small})
	if err != nil {
		t.Fatal(err)
	}
	created, err := empty.CreateDemo()
	if created || err == nil || !strings.Contains(err.Error(), `"unlimited"`) || len(empty.AccountList()) != 0 {
		t.Errorf("CreateDemo without its plan = %t, %v; %+v", created, err, empty.AccountList())
	}

	_, err = Open(r.store, accounts.DefaultPlans(), testStart)
	if err == nil || !strings.Contains(err.Error(), "acme") || !strings.Contains(err.Error(), `"small"`) {
		t.Errorf("error = %v; want one that names account and plan", err)
	}
}

// Other plans are in force at once, for active and suspended accounts, and all
// of them or none.
func TestReplacePlans(t *testing.T) {
	r := newRegistry(t, vfs.NewMem())
	for _, name := range []string{"acme", "idle"} {
		if _, err := r.CreateAccount(name, "free"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Suspend("idle"); err != nil {
		t.Fatal(err)
	}
	f := func(name string, units int64, suspended bool) {
		t.Helper()
		terms := r.accounts[name].cell.Terms()
		if terms.Plan.MonthlyUnits != units || terms.Suspended != suspended {
			t.Errorf("%s has the terms %+v; want %d units, suspended %v", name, terms, units, suspended)
		}
	}

	plans := accounts.DefaultPlans()
	plans[0].MonthlyUnits = 77
	if err := r.ReplacePlans(plans); err != nil {
		t.Fatal(err)
	}
	f("acme", 77, false)
	f("idle", 77, true)

	err := r.ReplacePlans(plans[1:])
	if err == nil || !strings.Contains(err.Error(), `account acme: unknown plan "free"`) {
		t.Errorf("error = %v; want one that names account and plan", err)
	}
	f("acme", 77, false)
	if _, err := r.SetPlan("acme", "growth"); err != nil {
		t.Error(err)
	}
}

// TestKeyLimitOfBrowserKeys checks that an account that has its last key is sent to plans
// that allow one more of the kind that was asked for.
func TestKeyLimitOfBrowserKeys(t *testing.T) {
	plan := func(id string, keys int64, browser bool) accounts.Plan {
		p := accounts.DefaultPlans()[0]
		p.ID, p.Name, p.MaxAPIKeys, p.BrowserKeys = id, id, keys, browser
		return p
	}
	r, err := openRegistry(t, vfs.NewMem(), []accounts.Plan{
		plan("small", 1, true), plan("servers", 9, false), plan("wide", 2, true),
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(plan, kind, want string) {
		t.Helper()
		q := KeyRequest{Account: "acme", Kind: kind}
		if kind == "browser" {
			q.Origins = []string{"https://a.example"}
		}
		if _, err := r.SetPlan("acme", plan); err != nil {
			t.Fatal(err)
		}
		if _, err := r.IssueKey(q); (err != nil || want != "") && (err == nil || err.Error() != want) {
			t.Errorf("a %s key of plan %s: %v; want %s", kind, plan, err, want)
		}
	}

	if _, err := r.CreateAccount("acme", "small"); err != nil {
		t.Fatal(err)
	}
	f("small", "server", "")
	const full = "acme has 1 active key, the most of plan small; revoke one, or move the account to a plan with more: "
	f("small", "browser", full+"wide")
	f("small", "server", full+"servers, wide")
	f("wide", "server", "")
	f("wide", "browser", "acme has 2 active keys, and no plan allows another browser key; revoke one first")
}

// TestBurstOfAnotherPlan checks that a burst which a slow plan has used up does not keep requests
// of a faster plan waiting.
func TestBurstOfAnotherPlan(t *testing.T) {
	plan := func(id string, perSecond int64) accounts.Plan {
		return accounts.Plan{ID: id, RequestsPerSecond: perSecond, Burst: 100, MaxAPIKeys: 1}
	}
	f := func(what string, change func(*Registry) error) {
		t.Helper()
		r, err := openRegistry(t, vfs.NewMem(), []accounts.Plan{plan("slow", 1), plan("fast", 100)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.CreateAccount("acme", "slow"); err != nil {
			t.Fatal(err)
		}
		issued, err := r.IssueKey(KeyRequest{Account: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		key, _ := r.book.Resolve([]byte(issued.Key))
		now := r.clock.At(time.Now())
		take := func(at int64) bool {
			ticket := r.book.Admit(key, at)
			return ticket.TakeToken()
		}

		for range 100 {
			take(now)
		}
		if take(now) {
			t.Errorf("%s: more than a burst of the slow plan is admitted", what)
		}
		if err := change(r); err != nil {
			t.Fatal(err)
		}
		if later := r.clock.At(time.Now()); take(now) || !take(later+int64(10*time.Millisecond)) {
			t.Errorf("%s: the fast plan does not admit the next request after 10 ms", what)
		}
	}

	f("the account has another plan", func(r *Registry) error {
		_, err := r.SetPlan("acme", "fast")
		return err
	})
	f("the plan is another", func(r *Registry) error {
		return r.ReplacePlans([]accounts.Plan{plan("slow", 100), plan("fast", 100)})
	})
}
