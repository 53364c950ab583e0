package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// bulletin is the changes that nodes of one process share.
type bulletin struct {
	last    uint64
	changes map[string]Change
}

func (b *bulletin) Publish(c Change, after uint64) (uint64, error) {
	if after != b.last {
		return 0, ErrOutdated
	}
	b.last++
	c.Number = b.last
	b.changes[c.Name()] = c
	return b.last, nil
}

func (b *bulletin) Read() ([]Change, error) {
	all := slices.Collect(maps.Values(b.changes))
	slices.SortFunc(all, func(x, y Change) int { return int(x.Number) - int(y.Number) })
	return all, nil
}

// A node that has missed changes reads the last one of every record. An account that was
// changed since is behind its own keys then, and behind accounts that are newer. The node
// takes them all, and its next account has a number of its own.
func TestMissedChangesInAnyOrder(t *testing.T) {
	b := &bulletin{changes: map[string]Change{}}
	open := func() *Registry {
		r, _, err := OpenShared(openStore(t, vfs.NewMem()), accounts.DefaultPlans(), testStart, b)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	writer, late := open(), open()

	for _, name := range []string{"old", "new"} {
		if _, err := writer.CreateAccount(name, "free"); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.IssueKey(KeyRequest{Account: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := writer.Suspend("old"); err != nil {
		t.Fatal(err)
	}
	if _, err := late.CreateAccount("next", "free"); err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, v := range late.AccountList() {
		names = append(names, v.Name)
	}
	if want := []string{"old", "new", "next"}; !slices.Equal(names, want) {
		t.Errorf("the late node lists %q; want %q", names, want)
	}
	ids := map[uint64]string{}
	for name, at := range late.accounts {
		if other, taken := ids[at.record.ID]; taken {
			t.Errorf("%s and %s have the number %d", name, other, at.record.ID)
		}
		ids[at.record.ID] = name
	}
	if n := len(late.keys); n != 2 {
		t.Errorf("the late node has %d keys; want 2", n)
	}
}

// node is a registry that shares a bulletin, and what it found when it joined.
func node(t *testing.T, fs *vfs.MemFS, b *bulletin, plans []accounts.Plan) (*Registry, Joined) {
	t.Helper()
	r, j, err := OpenShared(openStore(t, fs), plans, testStart, b)
	if err != nil {
		t.Fatal(err)
	}
	return r, j
}

// filled is a disk with two accounts, each with a key, of which the first is revoked; the
// second account is suspended.
func filled(t *testing.T, fs *vfs.MemFS, names ...string) {
	t.Helper()
	r := newRegistry(t, fs)
	for _, name := range names {
		if _, err := r.CreateAccount(name, "free"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.IssueKey(KeyRequest{Account: name, Label: "of " + name}); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := r.RevokeKey(keyID(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Suspend(names[len(names)-1]); err != nil {
		t.Fatal(err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents lists accounts and keys with what matters of them.
func contents(r *Registry) (list []string) {
	for _, at := range r.ordered {
		list = append(list, fmt.Sprintf("%d %s %s suspended %t", at.record.ID, at.record.Name, at.record.Plan, at.record.Suspended))
		for k := range r.keysOf(at) {
			list = append(list, fmt.Sprintf("key %d %s revoked %t", k.ID, k.Label, k.RevokedAt() != 0))
		}
	}
	return list
}

// TestJoin: the first node shares all that it has, a new one takes it, one that comes
// again has it, and one with accounts of its own sets them apart.
func TestJoin(t *testing.T) {
	b, plans := &bulletin{changes: map[string]Change{}}, accounts.DefaultPlans()
	first := vfs.NewMem()
	filled(t, first, "old", "new")
	founder, j := node(t, first, b, plans)
	want := []string{"1 old free suspended false", "key 1 of old revoked true", "2 new free suspended true", "key 2 of new revoked false"}
	if !j.Founded || j.Plans || j.Apart != nil || j.Copy != "" || !slices.Equal(contents(founder), want) {
		t.Errorf("the first node: %+v with %q; want %q", j, contents(founder), want)
	}
	if len(b.changes) != 5 || b.changes["plans"].Number != 5 {
		t.Errorf("%d changes are shared, the plans as number %d; want 5, the plans last", len(b.changes), b.changes["plans"].Number)
	}

	second := vfs.NewMem()
	late, j := node(t, second, b, plans)
	if j.Founded || j.Plans || j.Apart != nil || j.Copy != "" || !slices.Equal(contents(late), want) {
		t.Errorf("a new node: %+v with %q; want %q", j, contents(late), want)
	}
	if err := late.store.Close(); err != nil {
		t.Fatal(err)
	}
	again, j := node(t, second, b, plans[:2])
	if j.Founded || !j.Plans || j.Apart != nil || !slices.Equal(contents(again), want) || len(again.Plans()) != len(plans) {
		t.Errorf("once more, with other plans: %+v with %q; want %q and the cluster's plans", j, contents(again), want)
	}

	third := vfs.NewMem()
	filled(t, third, "mine", "new")
	stranger, j := node(t, third, b, plans)
	if apart := []string{"mine", "new", keyID(1), keyID(2)}; !slices.Equal(j.Apart, apart) || j.Copy == "" || j.Founded {
		t.Errorf("a node with accounts of its own: %+v; want %q apart", j, apart)
	}
	if !slices.Equal(contents(stranger), want) {
		t.Errorf("it has %q then; want %q", contents(stranger), want)
	}
	if _, err := third.Stat(j.Copy); err != nil {
		t.Errorf("its own are not kept: %v", err)
	}
}

// torn is a bulletin that takes some changes and then no more.
type torn struct {
	*bulletin
	left int
}

var errTorn = errors.New("torn")

func (b *torn) Publish(c Change, after uint64) (uint64, error) {
	if b.left == 0 {
		return 0, errTorn
	}
	b.left--
	return b.bulletin.Publish(c, after)
}

// A first node that was ended while it shared its accounts goes on with it at its next
// start, wherever it was, and shares nothing twice.
func TestFirstNodeGoesOn(t *testing.T) {
	for shared := range 5 {
		b, fs := &bulletin{changes: map[string]Change{}}, vfs.NewMem()
		filled(t, fs, "old", "new")
		store := openStore(t, fs)
		if _, _, err := OpenShared(store, accounts.DefaultPlans(), testStart, &torn{b, shared}); !errors.Is(err, errTorn) {
			t.Fatalf("after %d changes: %v", shared, err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}

		r, j := node(t, fs, b, accounts.DefaultPlans())
		if !j.Founded || j.Apart != nil || b.last != 5 || len(b.changes) != 5 || len(r.AccountList()) != 2 {
			t.Errorf("after %d changes: %+v, shared are %d records in %d changes", shared, j, len(b.changes), b.last)
		}
	}
}

// overtaken is a bulletin on which another node shares all it has right before this one.
type overtaken struct {
	*bulletin
	by func()
}

func (b *overtaken) Publish(c Change, after uint64) (uint64, error) {
	if b.by != nil {
		b.by()
		b.by = nil
	}
	number, err := b.bulletin.Publish(c, after)
	if err != nil {
		err = fmt.Errorf("cannot publish: %w", err)
	}
	return number, err
}

// Of two nodes that begin to share at once, one is the first, and the other takes what that
// has.
func TestBothBeginToShare(t *testing.T) {
	fs := vfs.NewMem()
	filled(t, fs, "old", "new")
	b := &overtaken{bulletin: &bulletin{changes: map[string]Change{}}}
	b.by = func() {
		if _, j := node(t, fs, b.bulletin, accounts.DefaultPlans()); !j.Founded {
			t.Errorf("the other node is not the first: %+v", j)
		}
	}

	r, j, err := OpenShared(openStore(t, vfs.NewMem()), accounts.DefaultPlans(), testStart, b)
	if err != nil || j.Founded {
		t.Fatalf("%+v, %v", j, err)
	}
	if n := len(r.AccountList()); n != 2 || b.last != 5 {
		t.Errorf("it has %d accounts after %d changes; want 2 after 5", n, b.last)
	}
}

// Only a node that has everything that was shared may go on as the first.
func TestIsPartOf(t *testing.T) {
	record := accountstore.AccountRecord{ID: 1, Name: "acme", CreatedAt: 9}
	key := accountstore.KeyRecord{ID: 1, Hash: [32]byte{1}}
	here := &accountstore.Content{Accounts: []accountstore.AccountRecord{record}, Keys: []accountstore.KeyRecord{key}}
	f := func(want bool, shared ...Change) {
		t.Helper()
		if got := isPartOf(shared, here); got != want {
			t.Errorf("%+v: %t; want %t", shared, got, want)
		}
	}

	f(true)
	f(true, Change{Account: &record})
	f(true, Change{Account: &record}, Change{Key: &key})
	for _, other := range []accountstore.AccountRecord{
		{ID: 2, Name: "acme", CreatedAt: 9}, {ID: 1, Name: "other", CreatedAt: 9}, {ID: 1, Name: "acme", CreatedAt: 8},
	} {
		f(false, Change{Account: &other})
		f(false, Change{Account: &record}, Change{Account: &other})
	}
	f(false, Change{Account: &record}, Change{Key: &accountstore.KeyRecord{ID: 1, Hash: [32]byte{2}}})
}

// TestRevokedStaysRevoked: a key that this node has revoked is not taken back by an older
// record of another node, and one that others have revoked is revoked here.
func TestRevokedStaysRevoked(t *testing.T) {
	f := func(here, there, want bool) {
		t.Helper()
		b, fs := &bulletin{changes: map[string]Change{}}, vfs.NewMem()
		filled(t, fs, "acme")
		r, _ := node(t, fs, b, accounts.DefaultPlans())
		if _, err := r.IssueKey(KeyRequest{Account: "acme"}); err != nil {
			t.Fatal(err)
		}

		record := recordOf(r.findKey(2), 0)
		if here {
			if _, err := r.RevokeKey(keyID(2)); err != nil {
				t.Fatal(err)
			}
		}
		if there {
			record.RevokedAt = 99
		}
		change := []Change{{Number: b.last + 1, Key: &record}, {Number: b.last + 2, Account: &r.accounts["acme"].record}}
		if news := r.different(change); len(news) > 0 != (there && !here) {
			t.Errorf("revoked here %t, there %t: %d records are written", here, there, len(news))
		}
		if err := r.Apply(change); err != nil {
			t.Fatal(err)
		}
		if got := r.findKey(2).RevokedAt() != 0; got != want {
			t.Errorf("revoked here %t, there %t: %t", here, there, got)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		stored := newRegistry(t, fs)
		if got := stored.findKey(2).RevokedAt() != 0; got != want {
			t.Errorf("revoked here %t, there %t: in the store %t", here, there, got)
		}
	}

	f(false, false, false)
	f(true, false, true)
	f(false, true, true)
	f(true, true, true)
}

// TestNewPlansReachAccounts: plans of the cluster are in force at once for the accounts
// that have them, and whoever asked is told.
func TestNewPlansReachAccounts(t *testing.T) {
	b, plans := &bulletin{changes: map[string]Change{}}, accounts.DefaultPlans()
	fs := vfs.NewMem()
	filled(t, fs, "acme", "other")
	r, _ := node(t, fs, b, plans)
	var told []accounts.Plan
	r.OnPlans(func(p []accounts.Plan) { told = p })

	fewer := slices.Clone(plans)
	fewer[0].MonthlyUnits = 7
	if err := r.Apply([]Change{{Number: b.last + 1, Plans: fewer}}); err != nil {
		t.Fatal(err)
	}
	for name, suspended := range map[string]bool{"acme": false, "other": true} {
		if terms := r.accounts[name].cell.Terms(); terms.Plan.MonthlyUnits != 7 || terms.Suspended != suspended {
			t.Errorf("%s has the terms %+v", name, *terms)
		}
	}
	if !slices.Equal(told, fewer) || !slices.Equal(r.Plans(), fewer) {
		t.Errorf("told of %d plans, in force are %d; want %d", len(told), len(r.Plans()), len(fewer))
	}
}

// busy is a bulletin on which another node is always first, and which may not be read.
type busy struct {
	unread         error
	publish, reads int
}

func (b *busy) Publish(Change, uint64) (uint64, error) { b.publish++; return 0, ErrOutdated }

func (b *busy) Read() ([]Change, error) { b.reads++; return nil, b.unread }

// A change that other nodes always come before is refused in the end, and one whose node
// cannot read their changes ends at once. Neither changes anything.
func TestOthersAreFirst(t *testing.T) {
	fs := vfs.NewMem()
	filled(t, fs, "acme")
	b := &busy{}
	r, err := OpenKept(openStore(t, fs), accounts.DefaultPlans(), testStart, b)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(r)

	_, err = r.CreateAccount("next", "free")
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Kind != Conflict || !strings.Contains(refusal.Message, "other nodes change accounts all the time") {
		t.Errorf("an account beside others: %v", err)
	}
	if b.publish != maxAttempts || b.reads != maxAttempts {
		t.Errorf("%d attempts and %d reads; want %d of each", b.publish, b.reads, maxAttempts)
	}

	b.publish, b.unread = 0, errTorn
	if _, err = r.CreateAccount("next", "free"); !errors.Is(err, errTorn) || b.publish != 1 {
		t.Errorf("with changes that cannot be read: %v, after %d attempts", err, b.publish)
	}
	if got := contents(r); !slices.Equal(got, before) {
		t.Errorf("the node has %q; want %q", got, before)
	}
	if _, _, err := OpenShared(r.store, accounts.DefaultPlans(), testStart, b); !errors.Is(err, errTorn) {
		t.Errorf("a join without the changes of the others: %v", err)
	}
}

// A node does not join before the first one has shared all: it asks for half a minute.
func TestWaitsForTheFirstNode(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	synctest.Test(t, func(t *testing.T) {
		b := &bulletin{changes: map[string]Change{}}
		b.changes["account.1"] = Change{Number: 1, Account: &accountstore.AccountRecord{ID: 1, Name: "acme"}}

		start := time.Now()
		_, j, err := OpenShared(store, accounts.DefaultPlans(), testStart, b)
		if err == nil || !strings.Contains(err.Error(), "has begun to share its accounts with the cluster") || j.Founded {
			t.Errorf("%+v, %v", j, err)
		}
		if took := time.Since(start); took != foundTimeout {
			t.Errorf("it waited for %s; want %s", took, foundTimeout)
		}
	})
}

// Records that name what the cluster does not have are refused by their names.
func TestChangesWithoutTheirOwners(t *testing.T) {
	fs := vfs.NewMem()
	filled(t, fs, "acme")
	r, _ := node(t, fs, &bulletin{changes: map[string]Change{}}, accounts.DefaultPlans())
	f := func(want string, c Change) {
		t.Helper()
		c.Number = 99
		if err := r.Apply([]Change{c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", c.Name(), err, want)
		}
	}

	f("account lost has the plan gold, which the cluster does not have",
		Change{Account: &accountstore.AccountRecord{ID: 7, Name: "lost", Plan: "gold"}})
	f("key key_8 belongs to account 9, which the cluster does not have",
		Change{Key: &accountstore.KeyRecord{ID: 8, Account: 9, Hash: [32]byte{9}}})

	for id, want := range map[uint64]string{0: "", 1: "acme", 2: ""} {
		if got := r.AccountName(id); got != want {
			t.Errorf("account %d is %q; want %q", id, got, want)
		}
	}
}

// What other nodes have used of a month is added to what this one has, and metering looks
// again at the accounts with use. If the others cannot be asked, nothing is shown.
func TestUsageElsewhere(t *testing.T) {
	fs := vfs.NewMem()
	filled(t, fs, "acme", "quiet")
	store := openStore(t, fs)
	november := accounts.MonthAt(testStart.UnixNano())
	if err := errors.Join(store.Flush(used(1, november, 20)), store.Close()); err != nil {
		t.Fatal(err)
	}
	r := newRegistry(t, fs)
	r.book.Dirty(nil)
	alone, err := r.Usage("acme", "")
	if err != nil {
		t.Fatal(err)
	}

	var elsewhere accounts.Share
	elsewhere.Routes[accounts.RoutePools] = accounts.Count{Requests: 3, Units: 4}
	elsewhere.Reserved = 50
	var failed error
	r.AddUsage(func(account uint64, m accounts.Month) (*accounts.Share, error) {
		if account != 1 || m != november {
			t.Errorf("asked for %s of account %d", m, account)
		}
		return &elsewhere, failed
	})
	all, err := r.Usage("acme", "")
	if err != nil || all.UnitsUsed != alone.UnitsUsed+4 || all.UnitsReserved != alone.UnitsReserved+50 {
		t.Errorf("with the others %+v, %v; without %+v", all, err, alone)
	}
	failed = errTorn
	if _, err := r.Usage("acme", ""); !errors.Is(err, errTorn) || !strings.Contains(err.Error(), "cannot ask for the usage of the other nodes") {
		t.Errorf("the others cannot be asked: %v", err)
	}

	for range 2 {
		r.ReportUsage()
		if cells := r.book.Dirty(nil); len(cells) != 1 || cells[0] != r.accounts["acme"].cell {
			t.Errorf("metering looks at %d accounts; want acme", len(cells))
		}
	}
}
