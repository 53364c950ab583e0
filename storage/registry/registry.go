package registry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Registry is every account and key of a node: durable in the store, and in
// force in the book.
type Registry struct {
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

// account is what the registry knows of one.
type account struct {
	record storage.AccountRecord
	cell   *accounts.Cell
	keys   []*accounts.Key // by id, revoked ones too
	active int64           // of keys, those not revoked
}

// Kind says what is wrong with a request that was refused.
type Kind uint8

const (
	Invalid  Kind = iota // a value is not allowed
	NotFound             // what it names does not exist
	Conflict             // it does not fit what exists
)

// Refusal is an error that the caller can mend: what was asked cannot be done,
// and the message says what could.
type Refusal struct {
	Kind    Kind
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind Kind, format string, args ...any) error {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}

// Open reads the accounts into a new book. start carries a monotonic reading;
// the quota clock counts from it.
func Open(store *storage.Accounts, plans []accounts.Plan, start time.Time) (*Registry, error) {
	r := &Registry{
		store: store, clock: accounts.NewClock(start),
		accounts: map[string]*account{}, keys: map[uint64]*accounts.Key{},
	}
	r.setPlans(plans)

	// The month is the later of the clock's and the last one charged to, so
	// that a clock that was set back grants no month twice.
	last, err := store.LastMonth()
	if err != nil {
		return nil, err
	}
	now := r.clock.At(start)
	r.turner = accounts.NewTurner(now, last)
	calendar := r.turner.Step(now, now)

	r.book = accounts.NewBook(calendar)
	content, err := store.Load(calendar.This.Month)
	if err != nil {
		return nil, err
	}
	return r, r.restore(content)
}

func (r *Registry) setPlans(plans []accounts.Plan) {
	r.plans, r.terms = plans, map[string]*[2]*accounts.Terms{}
	for i := range plans {
		p := &plans[i]
		r.terms[p.ID] = &[2]*accounts.Terms{accounts.NewTerms(p, false), accounts.NewTerms(p, true)}
	}
}

// ReplacePlans puts other plans in force, for every account at once. It changes
// nothing when an account has a plan that is not among them. What an account
// has used this month stays used, and its keys stay active.
func (r *Registry) ReplacePlans(plans []accounts.Plan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.ordered {
		if err := checkPlan(plans, &at.record); err != nil {
			return err
		}
	}

	r.setPlans(plans)
	for _, at := range r.ordered {
		r.book.SetTerms(at.cell, r.termsOf(at.record.Plan, at.record.Suspended))
	}
	return nil
}

// checkPlan refuses plans that lack the one of an account.
func checkPlan(plans []accounts.Plan, a *storage.AccountRecord) error {
	if _, err := accounts.FindPlan(plans, a.Plan); err != nil {
		return fmt.Errorf("account %s: %w; add the plan to the configuration, or move the "+
			"account to another plan first", a.Name, err)
	}
	return nil
}

// restore fills the book with what the store has.
func (r *Registry) restore(c *storage.AccountsContent) error {
	byID := map[uint64]*account{}
	for _, record := range c.Accounts {
		if err := checkPlan(r.plans, &record); err != nil {
			return err
		}
		byID[record.ID] = r.addAccount(record)
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
		r.addKey(at, &c.Keys[i])
	}
	return nil
}

// Book is what the request path asks.
func (r *Registry) Book() *accounts.Book { return r.book }

// Clock is the quota clock.
func (r *Registry) Clock() accounts.Clock { return r.clock }

// Turner decides when the book's month turns; it belongs to the metering side.
func (r *Registry) Turner() *accounts.Turner { return r.turner }

// addAccount puts an account into the registry.
func (r *Registry) addAccount(record storage.AccountRecord) *account {
	at := &account{
		record: record,
		cell: accounts.NewCell(record.ID, record.Name, record.CreatedAt,
			r.termsOf(record.Plan, record.Suspended)),
	}
	r.accounts[record.Name] = at
	r.ordered = append(r.ordered, at)
	return at
}

func (r *Registry) termsOf(plan string, suspended bool) *accounts.Terms {
	if suspended {
		return r.terms[plan][1]
	}
	return r.terms[plan][0]
}

func (r *Registry) findAccount(name string) (*account, error) {
	if at := r.accounts[name]; at != nil {
		return at, nil
	}
	return nil, refuse(NotFound, "no account %q; tidemark accounts list shows all accounts", name)
}

func nowMs() int64 { return time.Now().UnixMilli() }

// planNames lists the plans that satisfy a condition, for messages.
func (r *Registry) planNames(ok func(*accounts.Plan) bool) string {
	var names []string
	for i := range r.plans {
		if ok(&r.plans[i]) {
			names = append(names, r.plans[i].ID)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
