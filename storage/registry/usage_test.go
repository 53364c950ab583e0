package registry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// used returns a month with two days: 8 units on November 3rd and 5 on the 5th.
func used(account uint64, m accounts.Month, lease int64) *accountstore.Flush {
	first := accountstore.DayRecord{Account: account, Day: accounts.DayAt(m.Start().AddDate(0, 0, 2).UnixNano(), m)}
	first.Routes[accounts.RoutePools] = accounts.Count{Requests: 2, Units: 2}
	first.Routes[accounts.RoutePositions] = accounts.Count{Requests: 3, Units: 6}
	month := accountstore.MonthRecord{
		Account: account, Tally: accounts.Tally{Month: m, Lease: lease},
		Day: first.Day + 2, Before: first.Routes,
	}
	month.Routes = first.Routes
	month.Routes[accounts.RoutePools] = accounts.Count{Requests: 7, Units: 7}
	return &accountstore.Flush{
		Months: []*accountstore.MonthRecord{&month}, Days: []accountstore.DayRecord{first},
	}
}

// What an account has used is read from the store after a restart: this month's and
// an earlier one's alike, with what a kill reserved, by route and by day.
func TestUsage(t *testing.T) {
	fs := vfs.NewMem()
	r := newRegistry(t, fs)
	if _, err := r.CreateAccount("other", "free"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.CreateAccount("acme", "free"); err != nil {
		t.Fatal(err)
	}
	november := accounts.MonthAt(testStart.UnixNano())
	for _, flush := range []*accountstore.Flush{used(2, november, 20), used(2, november-1, 15)} {
		if err := r.store.Flush(flush); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}

	r = newRegistry(t, fs)
	f := func(name, month, want string) {
		t.Helper()
		u, err := r.Usage(name, month)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(u); string(got) != want {
			t.Errorf("usage of %s in %q:\n%s; want\n%s", name, month, got, want)
		}
	}

	const routes = `"routes":[{"path":"/v1/positions","requests":3,"units":6},{"path":"/v1/pools","requests":`
	rest := func(month string) string {
		return routes + `7,"units":7}],"days":[{"day":"` + month + `-03","requests":5,"units":8,` +
			routes + `2,"units":2}]},{"day":"` + month + `-05","requests":5,"units":5,` +
			`"routes":[{"path":"/v1/pools","requests":5,"units":5}]}]}`
	}
	const none = `"routes":[],"days":[]}`
	f("acme", "", `{"account":"acme","plan":"free","month":"2026-11","unitsUsed":13,"unitsReserved":7,`+
		`"unitsLimit":25000,"resetsAt":"2026-12-01T00:00:00.000Z",`+rest("2026-11"))
	f("acme", "2026-10", `{"account":"acme","plan":"free","month":"2026-10","unitsUsed":13,"unitsReserved":2,`+
		`"unitsLimit":25000,"resetsAt":"2026-11-01T00:00:00.000Z",`+rest("2026-10"))
	f("acme", "2026-09", `{"account":"acme","plan":"free","month":"2026-09","unitsUsed":0,`+
		`"unitsLimit":25000,"resetsAt":"2026-10-01T00:00:00.000Z",`+none)
	f("other", "", `{"account":"other","plan":"free","month":"2026-11","unitsUsed":0,`+
		`"unitsLimit":25000,"resetsAt":"2026-12-01T00:00:00.000Z",`+none)

	detail, err := r.Account("acme")
	if err != nil || detail.Usage.UnitsUsed != 13 || detail.Name != "acme" || detail.Status != "active" {
		t.Errorf("the account is %+v, %v; want 13 units used", detail, err)
	}
	if _, err := r.SetPlan("acme", "unlimited"); err != nil {
		t.Fatal(err)
	}
	f("acme", "", `{"account":"acme","plan":"unlimited","month":"2026-11","unitsUsed":13,`+
		`"unitsLimit":null,"resetsAt":"2026-12-01T00:00:00.000Z",`+rest("2026-11"))
}

// Usage has what was charged and is not in the store yet.
func TestUsageBeforeTheStore(t *testing.T) {
	r := newRegistry(t, vfs.NewMem())
	if _, err := r.CreateAccount("acme", "starter"); err != nil {
		t.Fatal(err)
	}
	key, err := r.IssueKey(KeyRequest{Account: "acme", Kind: "server"})
	if err != nil {
		t.Fatal(err)
	}

	now, month := testStart.UnixNano(), accounts.MonthAt(testStart.UnixNano())
	r.Book().SetAlive(now)
	k, _ := r.Book().Resolve([]byte(key.Key))
	k.Cell.Begin(month)
	k.Cell.Open(month, 100)
	ticket := r.Book().Admit(k, now)
	if v := r.Book().Reserve(&ticket, 10); v != accounts.Granted {
		t.Fatalf("the units are not granted: %d", v)
	}
	r.Book().Settle(&ticket, accounts.RoutePools, 2)

	if u, err := r.Usage("acme", ""); err != nil || u.UnitsUsed != 2 || len(u.Routes) != 1 || u.Routes[0].Units != 2 {
		t.Errorf("%+v, %v; want 2 units of one route", u, err)
	}
}

// After a restart the quota counts from what may have been used, and an account's
// origins are listed once, whatever was changed of it.
func TestRestoredAccount(t *testing.T) {
	fs := vfs.NewMem()
	r := newRegistry(t, fs)
	if _, err := r.CreateAccount("acme", "starter"); err != nil {
		t.Fatal(err)
	}
	key, err := r.IssueKey(KeyRequest{Account: "acme", Kind: "browser", Origins: []string{"https://a.example"}})
	if err != nil {
		t.Fatal(err)
	}
	november := accounts.MonthAt(testStart.UnixNano())
	if err := errors.Join(r.store.Flush(used(1, november, 20)), r.store.Close()); err != nil {
		t.Fatal(err)
	}

	r = newRegistry(t, fs)
	k, _ := r.Book().Resolve([]byte(key.Key))
	ticket := r.Book().Admit(k, testStart.UnixNano())
	if q := ticket.Quota(); q.Limit-q.Left != 20 || q.Reserved != 7 {
		t.Errorf("%d units count as used, %d of them reserved; want 20 and 7", q.Limit-q.Left, q.Reserved)
	}
	if _, err := r.SetPlan("acme", "growth"); err != nil {
		t.Fatal(err)
	}
	for _, suspended := range []bool{true, false, true} {
		if _, err := r.setSuspended("acme", suspended); err != nil {
			t.Fatal(err)
		}
		if listed := r.Book().Listed([]byte("https://a.example")); listed == suspended {
			t.Errorf("suspended: %t; its origin is listed: %t", suspended, listed)
		}
	}
}

// fullDisk is a disk that may be full.
type fullDisk struct {
	*vfs.MemFS
	full bool
}

func (d *fullDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if d.full {
		return vfs.DiskUsage{TotalBytes: 1 << 40}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// What cannot be written does not happen: every command says so, and accounts, keys
// and what requests may do stay as they were.
func TestWritesThatFail(t *testing.T) {
	disk := &fullDisk{MemFS: vfs.NewMem()}
	store, err := accountstore.Open("accounts", accountstore.Options{
		FS: disk, Logger: slog.New(slog.DiscardHandler), Exit: func() { panic("store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(store, accounts.DefaultPlans(), testStart)
	if err != nil {
		t.Fatal(err)
	}

	disk.full = true
	if created, err := r.CreateDemo(); created || !errors.Is(err, accountstore.ErrNoSpace) || len(r.AccountList()) != 0 {
		t.Errorf("CreateDemo on a full disk: %v, %v", created, err)
	}
	disk.full = false
	if _, err := r.CreateAccount("acme", "starter"); err != nil {
		t.Fatal(err)
	}
	key, err := r.IssueKey(KeyRequest{Account: "acme", Label: "backend"})
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		keys, err := r.KeyList("")
		text, _ := json.Marshal([]any{r.AccountList(), keys, err})
		_, reason := r.Book().Resolve([]byte(key.Key))
		return string(text) + string('0'+byte(reason))
	}
	before := state()

	disk.full = true
	f := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, accountstore.ErrNoSpace) {
			t.Errorf("%s on a full disk: %v; want no space", what, err)
		}
		if after := state(); after != before {
			t.Errorf("%s on a full disk made\n%s; want\n%s", what, after, before)
		}
	}
	_, err = r.CreateAccount("other", "free")
	f("CreateAccount", err)
	_, err = r.IssueKey(KeyRequest{Account: "acme"})
	f("IssueKey", err)
	_, err = r.RevokeKey(key.ID)
	f("RevokeKey", err)
	_, err = r.Suspend("acme")
	f("Suspend", err)
	_, err = r.SetPlan("acme", "growth")
	f("SetPlan", err)
	if _, err := r.Resume("acme"); err != nil || state() != before {
		t.Errorf("Resume of an active account, which needs no write: %v", err)
	}
}

// A key is listed with all that is known of it, and so is what was issued; a restart
// forgets none of it.
func TestKeyViews(t *testing.T) {
	fs := vfs.NewMem()
	r := newRegistry(t, fs)
	for _, name := range []string{"acme", "other"} {
		if _, err := r.CreateAccount(name, "starter"); err != nil {
			t.Fatal(err)
		}
	}
	issued, err := r.IssueKey(KeyRequest{
		Account: "acme", Kind: "browser", Origins: []string{"https://a.example"}, Label: "site",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.IssueKey(KeyRequest{Account: "other"}); err != nil {
		t.Fatal(err)
	}
	key, reason := r.Book().Resolve([]byte(issued.Key))
	if reason != accounts.Accepted {
		t.Fatalf("the key is refused: %d", reason)
	}
	f := func(what string, got, want any) {
		t.Helper()
		a, _ := json.Marshal(got)
		if b, _ := json.Marshal(want); string(a) != string(b) {
			t.Errorf("%s: %s; want %s", what, a, b)
		}
	}

	want := IssuedKey{
		ID: "key_1", Key: issued.Key, Prefix: issued.Key[:accounts.PrefixLen], Kind: "browser",
		Account: "acme", Label: "site", AllowedOrigins: []string{"https://a.example"}, CreatedAt: issued.CreatedAt,
	}
	f("issued", issued, want)
	made, err := time.Parse(time.RFC3339, issued.CreatedAt)
	if err != nil || time.Since(made) > time.Hour {
		t.Errorf("issued at %s: %v", issued.CreatedAt, err)
	}

	view := KeyView{
		ID: want.ID, Prefix: want.Prefix, Kind: want.Kind, Account: want.Account, Label: want.Label,
		AllowedOrigins: want.AllowedOrigins, Status: "active", CreatedAt: want.CreatedAt,
	}
	list, err := r.KeyList("acme")
	if err != nil {
		t.Fatal(err)
	}
	f("never used", list, []KeyView{view})

	// Of a use in the minute in which the key was made, that minute is the last that is
	// known, and it began before the key.
	r.Book().Touch(key, made.UnixNano())
	view.LastUsedAt = &view.CreatedAt
	if list, err = r.KeyList("acme"); err != nil {
		t.Fatal(err)
	}
	f("used at once", list, []KeyView{view})

	later := made.Add(2 * time.Minute)
	r.Book().Touch(key, later.UnixNano())
	used := accountstore.Flush{Keys: []accountstore.KeyUse{{Key: 1, Minute: key.UsedMinute()}}}
	revoked, err := r.RevokeKey("key_1")
	if err != nil || revoked.RevokedAt == nil || r.store.Flush(&used) != nil {
		t.Fatalf("revoked %+v, %v", revoked, err)
	}
	view.Status, view.RevokedAt, view.LastUsedAt = "revoked", revoked.RevokedAt, new(later.Truncate(time.Minute).Format("2006-01-02T15:04:05.000Z"))
	for _, what := range []string{"before a restart", "after one"} {
		list, err := r.KeyList("acme")
		if err != nil {
			t.Fatal(err)
		}
		f(what, list, []KeyView{view})
		if all, err := r.KeyList(""); err != nil || len(all) != 2 || all[1].Account != "other" {
			t.Errorf("%s all keys are %+v, %v; want both", what, all, err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		r = newRegistry(t, fs)
	}
}

// Numbers of keys may have gaps, as when a start accepted a loss.
func TestGapsBetweenKeys(t *testing.T) {
	fs := vfs.NewMem()
	r := newRegistry(t, fs)
	err := r.store.Put([]accountstore.AccountRecord{{ID: 1, Name: "acme", Plan: "free"}},
		[]accountstore.KeyRecord{{ID: 3, Account: 1, Prefix: "tm_srv_000000000"}})
	if err := errors.Join(err, r.store.Close()); err != nil {
		t.Fatal(err)
	}
	r = newRegistry(t, fs)
	next, err := r.IssueKey(KeyRequest{Account: "acme"})
	if err != nil || next.ID != "key_4" {
		t.Errorf("the next key is %s, %v; want key_4", next.ID, err)
	}

	if all, err := r.KeyList(""); err != nil || len(all) != 2 || all[0].ID != "key_3" || all[1].ID != "key_4" {
		t.Errorf("the keys are %+v, %v; want 3 and 4", all, err)
	}
}

// An account is shown with its plan, its state and its keys, of which there may be none.
func TestAccountViews(t *testing.T) {
	r := newRegistry(t, vfs.NewMem())
	if _, err := r.CreateAccount("acme", "free"); err != nil {
		t.Fatal(err)
	}
	f := func(status, keys string, active int64) {
		t.Helper()
		d, err := r.Account("acme")
		if err != nil {
			t.Fatal(err)
		}
		list, _ := json.Marshal(d.KeyList)
		if d.Name != "acme" || d.Plan != "free" || d.Status != status || d.ActiveKeys != active || d.CreatedAt == "" ||
			(string(list) == "[]") != (keys == "none") || r.AccountList()[0] != d.AccountView {
			t.Errorf("the account is %+v, its keys %s; want %s, %d active keys", d.AccountView, list, status, active)
		}
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	f("active", "none", 0)
	do(r.Suspend("acme"))
	f("suspended", "none", 0)
	do(r.Resume("acme"))
	do(r.IssueKey(KeyRequest{Account: "acme"}))
	f("active", "one", 1)
	do(r.RevokeKey("key_1"))
	f("active", "one", 0)

	for what, err := range map[string]error{
		"usage":   func() error { _, err := r.Usage("nobody", ""); return err }(),
		"account": func() error { _, err := r.Account("nobody"); return err }(),
		"keys":    func() error { _, err := r.KeyList("nobody"); return err }(),
		"plan":    func() error { _, err := r.SetPlan("acme", "gold"); return err }(),
	} {
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s of what does not exist: %v; want a refusal", what, err)
		}
	}
	f("active", "one", 0)

	do(r.SetPlan("acme", "starter"))
	for range 4 {
		do(r.IssueKey(KeyRequest{Account: "acme"}))
	}
	_, err := r.SetPlan("acme", "free")
	if want := "plan free has at most 2 keys and acme has 4; revoke 2 of them first"; err == nil || err.Error() != want {
		t.Errorf("a plan with fewer keys: %v; want %s", err, want)
	}
	do(r.IssueKey(KeyRequest{Account: "acme"}))
	_, err = r.IssueKey(KeyRequest{Account: "acme"})
	want := "acme has 5 active keys, the most of plan starter; revoke one, or move the account to a plan with " +
		"more: growth, scale, unlimited"
	if err == nil || err.Error() != want {
		t.Errorf("a key too many: %v; want %s", err, want)
	}
}

// A record that cannot be read is an error of what needs it, and of nothing else.
func TestDamagedRecords(t *testing.T) {
	november := accounts.MonthAt(testStart.UnixNano())
	f := func(key []byte, open, account, usage bool) {
		t.Helper()
		disk := vfs.NewMem()
		r := newRegistry(t, disk)
		_, err := r.CreateAccount("acme", "free")
		err = errors.Join(err, r.store.Flush(used(1, november, 20)), r.store.Flush(used(1, november-1, 15)))
		for range 70 { // until these months are out of the journal
			err = errors.Join(err, r.store.Flush(used(1, november-12, 1)))
		}
		if err = errors.Join(err, r.store.Close()); err != nil {
			t.Fatal(err)
		}

		db, err := pebble.Open("accounts", &pebble.Options{FS: disk, FormatMajorVersion: pebble.FormatNewest})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set(key, []byte{0xff}, pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}

		store := openStore(t, disk)
		r, err = Open(store, accounts.DefaultPlans(), testStart)
		if (err == nil) != open {
			t.Errorf("key %x: opened with %v; want an error: %t", key, err, !open)
		}
		if !open {
			others := &bulletin{changes: map[string]Change{"plans": {Number: 1, Plans: accounts.DefaultPlans()}}}
			_, j, err := OpenShared(store, accounts.DefaultPlans(), testStart, others)
			if err == nil && len(j.Apart) == 0 {
				t.Errorf("key %x: the node joins others as if it had no accounts", key)
			}
			return
		}
		if d, err := r.Account("acme"); (err == nil) != account {
			t.Errorf("key %x: the account is %+v, %v; want an error: %t", key, d, err, !account)
		}
		if u, err := r.Usage("acme", "2026-10"); (err == nil) != usage {
			t.Errorf("key %x: the usage of October is %+v, %v; want an error: %t", key, u, err, !usage)
		}
	}
	month := func(m accounts.Month) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{0x10}, uint32(m)), 1)
	}
	day := func(m accounts.Month, n int) []byte {
		at := accounts.DayAt(m.Start().AddDate(0, 0, n-1).UnixNano(), m)
		return binary.BigEndian.AppendUint32([]byte{0x11, 0, 0, 0, 0, 0, 0, 0, 1}, uint32(at))
	}

	f([]byte{0x10, 0xff}, false, false, false) // the newest month
	f([]byte{0x01, 0, 0, 0, 0, 0, 0, 0, 1}, false, false, false)
	f([]byte{0x02, 0, 0, 0, 0, 0, 0, 0, 1}, false, false, false)
	f([]byte{0x03, 0, 0, 0, 0, 0, 0, 0, 1}, false, false, false)
	f(month(november), false, false, false)
	f(month(november-1), true, true, false)
	f(day(november, 3), true, false, true)
	f(day(november-1, 3), true, true, false)
}
