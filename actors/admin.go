package actors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Admin administers accounts and keys: every change is durable in the store
// before it is in the book, and in the book before the call returns. It serves
// the unix socket and whoever else administers; its methods may be called from
// any goroutine.
type Admin struct {
	store  *storage.Accounts
	plans  []accounts.Plan
	book   *accounts.Book
	clock  accounts.Clock
	turner *accounts.Turner

	mu       sync.Mutex // held around every change and listing
	accounts map[string]*account
	ordered  []*account // by id
	keys     map[uint64]*accounts.Key
	terms    map[string]*[2]*accounts.Terms // by plan: active, suspended
	lastKey  uint64
}

// account is what administration knows of one.
type account struct {
	record storage.AccountRecord
	cell   *accounts.Cell
	keys   []*accounts.Key // by id, revoked ones too
	active int64           // of keys, those not revoked
}

// Refusal is an error that the caller can mend: what was asked cannot be done,
// and the message says what could.
type Refusal struct {
	Status  int // as in HTTP
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// OpenAdmin reads the accounts into a new book. start carries a monotonic
// reading; the quota clock counts from it.
func OpenAdmin(store *storage.Accounts, plans []accounts.Plan, start time.Time) (*Admin, error) {
	a := &Admin{
		store: store, plans: plans, clock: accounts.NewClock(start),
		accounts: map[string]*account{}, keys: map[uint64]*accounts.Key{},
		terms: map[string]*[2]*accounts.Terms{},
	}
	for i := range plans {
		p := &plans[i]
		a.terms[p.ID] = &[2]*accounts.Terms{accounts.NewTerms(p, false), accounts.NewTerms(p, true)}
	}
	last, err := store.LastMonth()
	if err != nil {
		return nil, err
	}
	now := a.clock.At(start)
	a.turner = accounts.NewTurner(now, last)
	calendar := a.turner.Step(now, now)
	a.book = accounts.NewBook(calendar)
	content, err := store.Load(calendar.This.Month)
	if err != nil {
		return nil, err
	}
	return a, a.enter(content)
}

// enter fills the book with what the store has.
func (a *Admin) enter(c *storage.AccountsContent) error {
	byID := map[uint64]*account{}
	for _, r := range c.Accounts {
		if _, err := accounts.FindPlan(a.plans, r.Plan); err != nil {
			return fmt.Errorf("account %s: %w; configure it, or move the account first", r.Name, err)
		}
		byID[r.ID] = a.add(r)
	}
	for i := range c.Months {
		if at := byID[c.Months[i].Account]; at != nil {
			at.cell.Restore(&c.Months[i].Tally)
		}
	}
	for i := range c.Keys {
		at := byID[c.Keys[i].Account]
		if at == nil {
			return fmt.Errorf("key %d is of account %d, which does not exist; see tidemark check",
				c.Keys[i].ID, c.Keys[i].Account)
		}
		a.addKey(at, &c.Keys[i])
	}
	return nil
}

// Book is what the edge asks.
func (a *Admin) Book() *accounts.Book { return a.book }

// Clock is the quota clock.
func (a *Admin) Clock() accounts.Clock { return a.clock }

// Plans are the plans of the configuration.
func (a *Admin) Plans() []accounts.Plan { return a.plans }

func (a *Admin) add(r storage.AccountRecord) *account {
	at := &account{
		record: r, cell: accounts.NewCell(r.ID, r.Name, r.CreatedAt, a.termsOf(r.Plan, r.Suspended)),
	}
	a.accounts[r.Name] = at
	a.ordered = append(a.ordered, at)
	return at
}

func (a *Admin) termsOf(plan string, suspended bool) *accounts.Terms {
	if suspended {
		return a.terms[plan][1]
	}
	return a.terms[plan][0]
}

func (a *Admin) find(name string) (*account, error) {
	if at := a.accounts[name]; at != nil {
		return at, nil
	}
	return nil, refuse(404, "no account %q; tidemark accounts list shows those there are", name)
}

// accountName is what names may be: they stand in paths and tables.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CreateAccount makes an account.
func (a *Admin) CreateAccount(name, plan string) (AccountView, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, err := a.create(name, plan)
	if err != nil {
		return AccountView{}, err
	}
	if err := a.store.Put([]storage.AccountRecord{at}, nil); err != nil {
		return AccountView{}, err
	}
	return a.view(a.add(at)), nil
}

// create checks a new account and gives it an id.
func (a *Admin) create(name, plan string) (r storage.AccountRecord, err error) {
	if !accountName.MatchString(name) {
		return r, refuse(400, "bad account name %q; it is 1 to 64 of a-z 0-9 . _ -, "+
			"and starts with a letter or digit", name)
	}
	if a.accounts[name] != nil {
		return r, refuse(409, "account %q exists already; choose another name", name)
	}
	if _, err := accounts.FindPlan(a.plans, plan); err != nil {
		return r, refuse(400, "%v", err)
	}
	id := uint64(1)
	if n := len(a.ordered); n > 0 {
		id = a.ordered[n-1].record.ID + 1
	}
	return storage.AccountRecord{ID: id, Name: name, Plan: plan, CreatedAt: nowMs()}, nil
}

// Suspend refuses every request of an account from now on; Resume takes them
// again.
func (a *Admin) Suspend(name string) (AccountView, error) { return a.setSuspended(name, true) }

// Resume undoes Suspend.
func (a *Admin) Resume(name string) (AccountView, error) { return a.setSuspended(name, false) }

func (a *Admin) setSuspended(name string, suspended bool) (AccountView, error) {
	return a.change(name, func(at *account, r *storage.AccountRecord) error {
		r.Suspended = suspended
		return nil
	})
}

// SetPlan moves an account to another plan. What it has used this month
// stays used.
func (a *Admin) SetPlan(name, plan string) (AccountView, error) {
	return a.change(name, func(at *account, r *storage.AccountRecord) error {
		p, err := accounts.FindPlan(a.plans, plan)
		if err != nil {
			return refuse(400, "%v", err)
		}
		r.Plan = plan
		return at.fits(p)
	})
}

// fits tells whether an account's active keys are within a plan.
func (at *account) fits(p *accounts.Plan) error {
	var browser []string
	for _, k := range at.keys {
		if k.RevokedAt() == 0 && k.Kind == accounts.Browser {
			browser = append(browser, keyID(k.ID))
		}
	}
	if len(browser) > 0 && !p.BrowserKeys {
		return refuse(409, "plan %s has no browser keys; revoke %s of %s first",
			p.ID, strings.Join(browser, ", "), at.record.Name)
	}
	if at.active > p.MaxAPIKeys {
		return refuse(409, "plan %s has at most %d keys and %s has %d; revoke %d of them first",
			p.ID, p.MaxAPIKeys, at.record.Name, at.active, at.active-p.MaxAPIKeys)
	}
	return nil
}

// change writes an account's new record and puts it in force.
func (a *Admin) change(name string, edit func(*account, *storage.AccountRecord) error,
) (AccountView, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, err := a.find(name)
	if err != nil {
		return AccountView{}, err
	}
	r := at.record
	if err := edit(at, &r); err != nil {
		return AccountView{}, err
	}
	if r == at.record {
		return a.view(at), nil
	}
	if err := a.store.Put([]storage.AccountRecord{r}, nil); err != nil {
		return AccountView{}, err
	}
	if r.Suspended != at.record.Suspended {
		at.listOrigins(a.book, r.Suspended)
	}
	at.record = r
	a.book.SetTerms(at.cell, a.termsOf(r.Plan, r.Suspended))
	return a.view(at), nil
}

// listOrigins takes the origins of the account's active keys out of the book
// of listed origins, or puts them in again.
func (at *account) listOrigins(b *accounts.Book, suspended bool) {
	by := int64(1)
	if suspended {
		by = -1
	}
	for _, k := range at.keys {
		if k.RevokedAt() == 0 {
			b.List(k, by)
		}
	}
}

// AccountList is every account, by id.
func (a *Admin) AccountList() []AccountView {
	a.mu.Lock()
	defer a.mu.Unlock()
	views := make([]AccountView, len(a.ordered))
	for i, at := range a.ordered {
		views[i] = a.view(at)
	}
	return views
}

// Account is one account, with its keys and what it has used this month.
func (a *Admin) Account(name string) (AccountDetail, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, err := a.find(name)
	if err != nil {
		return AccountDetail{}, err
	}
	d := AccountDetail{AccountView: a.view(at), KeyList: make([]KeyView, 0, len(at.keys))}
	for _, k := range at.keys {
		d.KeyList = append(d.KeyList, viewKey(k))
	}
	d.Usage, err = a.usage(at, a.book.Calendar().This.Month)
	return d, err
}

// Usage is what an account used in a month, 2026-11, or now when it is empty.
func (a *Admin) Usage(name, month string) (UsageView, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, err := a.find(name)
	if err != nil {
		return UsageView{}, err
	}
	m := a.book.Calendar().This.Month
	if month != "" {
		if m, err = accounts.ParseMonth(month); err != nil {
			return UsageView{}, refuse(400, "%v", err)
		}
	}
	return a.usage(at, m)
}

// usage reads a month from the account's cell when it is still there, else
// from the store.
func (a *Admin) usage(at *account, m accounts.Month) (UsageView, error) {
	tally, ok := at.cell.Tally(m)
	if !ok {
		stored, err := a.store.Month(at.record.ID, m)
		if err != nil {
			return UsageView{}, err
		}
		tally = stored.Tally
	}
	days, err := a.store.Days(at.record.ID, m)
	if err != nil {
		return UsageView{}, err
	}
	return viewUsage(at, m, &tally, days), nil
}

// Demo makes the account of a first start, with one server key, when there is
// no account at all. Both are written together: a kill in between leaves
// neither an account without a key nor a key that nobody was shown.
func (a *Admin) Demo() (key string, created bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ordered) > 0 {
		return "", false, nil
	}
	at, err := a.create("demo", "unlimited")
	if err != nil {
		return "", false, err
	}
	key, record, err := a.draw(at.ID, &KeyRequest{Kind: "server", Label: "made on the first start"}, nil)
	if err != nil {
		return "", false, err
	}
	if err := a.store.Put([]storage.AccountRecord{at}, []storage.KeyRecord{record}); err != nil {
		return "", false, err
	}
	a.addKey(a.add(at), &record)
	return key, true, nil
}

func nowMs() int64 { return time.Now().UnixMilli() }

// planNames lists plans that a test holds for, for messages.
func (a *Admin) planNames(ok func(*accounts.Plan) bool) string {
	var names []string
	for i := range a.plans {
		if ok(&a.plans[i]) {
			names = append(names, a.plans[i].ID)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
