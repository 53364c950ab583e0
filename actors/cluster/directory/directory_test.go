package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nats-io/nats.go/jetstream"

	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

var testStart = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// member is a node's accounts.
type member struct {
	*registry.Registry
	t         *testing.T
	fs        *vfs.MemFS
	store     *accountstore.Store
	directory *Directory
	joined    registry.Joined
	follow    context.CancelFunc
}

func openStore(t *testing.T, fs *vfs.MemFS, dir string) *accountstore.Store {
	t.Helper()
	store, err := accountstore.Open(dir, accountstore.Options{
		FS: fs, Logger: slog.New(slog.DiscardHandler), Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// join starts a node on a disk. It follows the others until it leaves.
func join(t *testing.T, s *natstest.Servers, name string, fs *vfs.MemFS) *member {
	t.Helper()
	c, err := cluster.Open(t.Context(), cluster.Config{
		Servers: s.URLs(), Monitoring: s.Monitoring(), Name: name, Insecure: len(s.All) < 3,
		Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	d, err := Open(t.Context(), c, metrics.NewSet(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	m := &member{t: t, fs: fs, store: openStore(t, fs, "accounts"), directory: d}
	m.Registry, m.joined, err = registry.OpenShared(m.store, accounts.DefaultPlans(), testStart, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m.follow = cancel
	t.Cleanup(cancel)
	go d.Follow(ctx, m.Apply)
	return m
}

// alone is a disk with accounts of a node that was alone.
func alone(t *testing.T, names ...string) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	store := openStore(t, fs, "accounts")
	r, err := registry.Open(store, accounts.DefaultPlans(), testStart)

	for _, name := range names {
		if err == nil {
			_, err = r.CreateAccount(name, "free")
		}
		if err == nil {
			_, err = r.IssueKey(registry.KeyRequest{Account: name})
		}
	}
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return fs
}

func (m *member) issue(account string) registry.IssuedKey {
	m.t.Helper()
	k, err := m.IssueKey(registry.KeyRequest{Account: account})
	if err != nil {
		m.t.Fatal(err)
	}
	return k
}

// answers waits until a node answers so to a key, and returns how long it took.
func (m *member) answers(key string, want accounts.Reason) time.Duration {
	m.t.Helper()
	began := time.Now()
	for {
		_, reason := m.Book().Resolve([]byte(key))
		switch {
		case reason == want:
			return time.Since(began)
		case time.Since(began) > time.Minute:
			m.t.Fatalf("after a minute a key is %d; want %d", reason, want)
		}
		time.Sleep(time.Millisecond)
	}
}

// lists returns the accounts and keys of a node, without when a key was last used.
func (m *member) lists() string {
	m.t.Helper()
	keys, err := m.KeyList("")
	if err != nil {
		m.t.Fatal(err)
	}

	for i := range keys {
		keys[i].LastUsedAt = nil
		if at := keys[i].RevokedAt; at != nil {
			keys[i].Status += " at " + *at
			keys[i].RevokedAt = nil
		}
	}
	return fmt.Sprint(m.AccountList(), keys)
}

// The first node shares the accounts that it has. A node that joins takes them, and keeps
// a copy of its own. What one node changes acts on all, and is there after a start alone.
func TestNodesShareAccounts(t *testing.T) {
	s := natstest.Start(t, 1, false)
	a := join(t, s, "a", alone(t, "acme", "zeta"))
	b := join(t, s, "b", alone(t, "beta"))
	if !a.joined.Founded || b.joined.Founded {
		t.Errorf("founded: %v and %v; want only the first", a.joined.Founded, b.joined.Founded)
	}
	if got := fmt.Sprint(b.joined.Apart); got != "[beta key_1]" {
		t.Errorf("kept apart: %s; want beta and its key", got)
	}
	if content, err := openStore(t, b.fs, b.joined.Copy).Load(0); err != nil || len(content.Accounts) != 1 ||
		content.Accounts[0].Name != "beta" || len(content.Keys) != 1 {
		t.Errorf("the copy has %+v, %v; want beta and its key", content, err)
	}

	key := b.issue("acme")
	a.answers(key.Key, accounts.Accepted)
	if _, err := a.Suspend("acme"); err != nil {
		t.Fatal(err)
	}
	b.answers(key.Key, accounts.Suspended)
	if _, err := b.Resume("acme"); err != nil { // it has seen the suspension
		t.Fatal(err)
	}
	a.answers(key.Key, accounts.Accepted)
	if _, err := b.SetPlan("acme", "growth"); err != nil {
		t.Fatal(err)
	}
	web, err := a.IssueKey(registry.KeyRequest{
		Account: "acme", Kind: "browser", Origins: []string{"https://a.example"}, Label: "site",
	})
	if err != nil {
		t.Fatal(err)
	}
	b.answers(web.Key, accounts.Accepted)
	if !b.Book().Listed([]byte("https://a.example")) {
		t.Error("the origin of a browser key is not allowed on the other node")
	}

	plans := append(accounts.DefaultPlans(), accounts.Plan{ID: "gold", Name: "Gold", MaxAPIKeys: 9})
	if err := a.ReplacePlans(plans); err != nil {
		t.Fatal(err)
	}
	if v, err := b.CreateAccount("gamma", "gold"); err != nil || v.Plan != "gold" {
		t.Errorf("an account with a plan of the other node: %+v, %v", v, err)
	}
	a.answers(b.issue("gamma").Key, accounts.Accepted)
	if a.lists() != b.lists() {
		t.Errorf("the nodes differ:\n%s\n%s", a.lists(), b.lists())
	}

	// A start without the others, on what b knew.
	want := b.lists()
	b.follow()
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.All[0].Shutdown()
	r, err := registry.Open(openStore(t, b.fs, "accounts"), plans, testStart)
	if err != nil {
		t.Fatal(err)
	}
	if got := (&member{Registry: r, t: t}).lists(); got != want {
		t.Errorf("alone it has\n%s; want\n%s", got, want)
	}

	// Without servers nothing is changed, and the error says so.
	if _, err := a.RevokeKey(key.ID); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Errorf("a change without servers: %v", err)
	}
}

// Administrations of several nodes at once: no change is lost, no number is given twice,
// and no limit is passed.
func TestAdministrationsAtOnce(t *testing.T) {
	s := natstest.Start(t, 3, true)
	nodes := []*member{join(t, s, "a", alone(t)), join(t, s, "b", alone(t)), join(t, s, "c", alone(t))}
	demos := 0
	for _, m := range nodes {
		if created, err := m.CreateDemo(); err != nil {
			t.Fatal(err)
		} else if created {
			demos++
		}
	}
	if demos != 1 {
		t.Errorf("%d nodes have made the first account; want 1", demos)
	}
	if _, err := nodes[0].CreateAccount("acme", "starter"); err != nil { // 5 keys
		t.Fatal(err)
	}

	const each = 4
	var mu sync.Mutex
	var issued, ids, created []string
	var wg sync.WaitGroup
	for i, m := range nodes {
		wg.Go(func() {
			for j := range each {
				k, err := m.IssueKey(registry.KeyRequest{Account: "acme"})
				var refusal *registry.Refusal
				if err != nil && !(errors.As(err, &refusal) && refusal.Kind == registry.Conflict) {
					t.Errorf("a key: %v", err)
				}
				v, err := m.CreateAccount(fmt.Sprintf("n-%d", j), "free") // the same on all nodes
				if err != nil && !errors.As(err, &refusal) {
					t.Errorf("account %d of node %d: %v", j, i, err)
				}
				mu.Lock()
				if k.Key != "" {
					issued, ids = append(issued, k.Key), append(ids, k.ID)
				}
				if v.Name != "" {
					created = append(created, v.Name)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()

	slices.Sort(ids)
	slices.Sort(created)
	if len(issued) != 5 || len(slices.Compact(ids)) != 5 {
		t.Errorf("issued %v; want the 5 keys of the plan", ids)
	}
	if got := fmt.Sprint(created); got != "[n-0 n-1 n-2 n-3]" {
		t.Errorf("created %s; want each name once", got)
	}
	for _, m := range nodes {
		for _, key := range issued {
			m.answers(key, accounts.Accepted)
		}
	}
	if nodes[0].lists() != nodes[1].lists() || nodes[0].lists() != nodes[2].lists() {
		t.Errorf("the nodes differ:\n%s\n%s\n%s", nodes[0].lists(), nodes[1].lists(), nodes[2].lists())
	}
}

// A revocation acts on all nodes within five seconds. If a watch is lost without a word,
// it does within a minute.
func TestRevocationActsEverywhere(t *testing.T) {
	s := natstest.Start(t, 1, false)
	a, b := join(t, s, "a", alone(t, "acme")), join(t, s, "b", vfs.NewMem())
	key := a.issue("acme")
	b.answers(key.Key, accounts.Accepted)
	if _, err := a.RevokeKey(key.ID); err != nil {
		t.Fatal(err)
	}
	if took := b.answers(key.Key, accounts.Revoked); took > 5*time.Second {
		t.Errorf("a revocation acts on the other node after %s", took)
	}

	if os.Getenv("TIDEMARK_TORTURE") == "" {
		return
	}
	watches := make(chan jetstream.KeyWatcher, 1)
	b.follow()
	b.directory.watching = func(w jetstream.KeyWatcher) { watches <- w }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go b.directory.Follow(ctx, b.Apply)

	<-watches
	key = a.issue("acme")
	b.answers(key.Key, accounts.Accepted)
	loseWatches(t, s.URLs()[0])
	if _, err := a.RevokeKey(key.ID); err != nil {
		t.Fatal(err)
	}
	took := b.answers(key.Key, accounts.Revoked)
	t.Logf("figure: a revocation acts on a node that has lost its watch after %s", took)
	if took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// loseWatches deletes the consumers of the bucket at the server, which tells nobody.
func loseWatches(t *testing.T, url string) {
	t.Helper()
	stream, err := natstest.JetStream(t, url).Stream(t.Context(), "KV_"+bucketName)
	if err != nil {
		t.Fatal(err)
	}
	names := stream.ConsumerNames(t.Context())
	for name := range names.Name() {
		if err := stream.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// A record is read as it was written, and damaged ones are refused.
func TestRecords(t *testing.T) {
	key := registry.Change{Number: 3, Key: &accountstore.KeyRecord{
		ID: 7, Account: 2, Hash: accounts.Hash{1, 2, 31: 9}, Kind: accounts.Browser,
		Origins: []string{"https://a.example"}, Prefix: "tm_web_012345678", Label: "site",
		CreatedAt: 5, RevokedAt: 6,
	}}
	account := registry.Change{Number: 4, Account: &accountstore.AccountRecord{
		ID: 2, Name: "acme", Plan: "free", Suspended: true, CreatedAt: 5,
	}}
	plans := registry.Change{Number: 5, Plans: accounts.DefaultPlans()}

	for _, c := range []registry.Change{key, account, plans} {
		value, err := encode(&c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(c.Name(), c.Number, value)
		again, _ := encode(&got)
		if err != nil || got.Number != c.Number || string(again) != string(value) {
			t.Errorf("%s is read as %s, %v", value, again, err)
		}
		if _, err := decode("account.99", 1, value); err == nil {
			t.Errorf("%s is accepted as account 99", value)
		}
		if _, err := decode(c.Name(), 1, value[:len(value)-1]); err == nil {
			t.Errorf("%s is accepted without its end", value)
		}
	}
}

// FuzzChange holds that whatever is read has the name that it is stored under, and is written as
// it was read.
func FuzzChange(f *testing.F) {
	f.Add("account.2", []byte(`{"id":2,"name":"acme","plan":"free","suspended":true,"createdAt":5}`))
	f.Add("key.7", []byte(`{"id":7,"account":2,"hash":"`+strings.Repeat("0a", 32)+
		`","kind":"browser","origins":["https://a.example"],"prefix":"tm_web_012345678","label":"site"}`))
	plans := registry.Change{Plans: accounts.DefaultPlans()}
	value, err := encode(&plans)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plans.Name(), value)

	f.Fuzz(func(t *testing.T, name string, value []byte) {
		c, err := decode(name, 3, value)
		if err != nil {
			return
		}
		again, err := encode(&c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(name, 3, again)
		if err != nil || c.Name() != name || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: %s is read as %+v, %v; want %+v", name, again, got, err, c)
		}
	})
}

// entry is one of the bucket.
type entry struct {
	jetstream.KeyValueEntry
	key, value string
	operation  jetstream.KeyValueOp
}

func (e entry) Key() string                     { return e.key }
func (e entry) Value() []byte                   { return []byte(e.value) }
func (e entry) Revision() uint64                { return 9 }
func (e entry) Operation() jetstream.KeyValueOp { return e.operation }

// Records of another program are left out, and named in the log with what is wrong.
func TestForeignRecords(t *testing.T) {
	var log strings.Builder
	d := &Directory{log: slog.New(slog.NewTextHandler(&log, nil))}
	f := func(e entry, want string) {
		t.Helper()
		log.Reset()
		c, ok := d.changeOf(e)
		if ok != (want == "") || !strings.Contains(log.String(), want) || ok && (c.Number != 9 || log.Len() > 0) {
			t.Errorf("%s = %s is taken: %t, %+v, %s; want %q", e.key, e.value, ok, c, log.String(), want)
		}
	}
	put := func(key, value string) entry { return entry{key: key, value: value, operation: jetstream.KeyValuePut} }
	key := func(kind, hash, prefix string) string {
		return fmt.Sprintf(`{"id":7,"account":2,"hash":%q,"kind":%q,"prefix":%q}`, hash, kind, prefix)
	}
	hash, prefix := strings.Repeat("ab", len(accounts.Hash{})), strings.Repeat("x", accounts.PrefixLen)

	f(put("account.2", `{"id":2,"name":"acme"}`), "")
	f(put("key.7", key("server", hash, prefix)), "")
	f(put("plans", `[]`), "")
	f(entry{key: "account.2", operation: jetstream.KeyValueDelete}, "a record was deleted")
	f(put("other", `{}`), "which this program does not know")
	f(put("acc", `{}`), "which this program does not know")
	f(put("account.3", `{"id":2,"name":"acme"}`), "cannot read account.3 in the bucket of accounts: it is the record of account.2")
	f(put("key.8", key("server", hash, prefix)), "it is the record of key.7")
	f(put("key.7", `{`), "cannot read key.7")
	f(put("account.2", `{`), "cannot read account.2")
	f(put("plans", `{`), "cannot read plans")
	late := strings.TrimSuffix(key("server", hash, prefix), "}") + `,"createdAt":"now"}`
	f(put("key.7", late), "cannot read key.7 in the bucket of accounts: json: cannot unmarshal")
	f(put("key.7", key("robot", hash, prefix)), "robot")
	f(put("key.7", key("server", "zz", prefix)), "key 7 has the hash")
	f(put("key.7", key("server", hash[2:], prefix)), "key 7 has the hash")
	f(put("key.7", key("server", hash+"a", prefix)), "key 7 has the hash")
	f(put("key.7", key("server", hash, prefix[1:])), "and the prefix")
}
