package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// Registry holds every account and key of a node, in the store and in the book.
type Registry struct {
	store  *accountstore.Store
	plans  []accounts.Plan
	book   *accounts.Book
	clock  accounts.Clock
	turner *accounts.Turner

	mu       sync.Mutex // held around every change and listing
	accounts map[string]*account
	ordered  []*account                     // by id
	keys     map[uint64]uint32              // by id: numbers of the book
	terms    map[string]*[2]*accounts.Terms // by plan: active, suspended
	lastKey  uint64
	shared   shared
}

// account is an account with its keys.
type account struct {
	record accountstore.AccountRecord
	cell   *accounts.Cell
	keys   []uint32 // numbers of the book, by id; revoked ones too
	active int64    // keys that are not revoked
}

// Kind says why a request was refused.
type Kind uint8

const (
	Invalid  Kind = iota // a value is not allowed
	NotFound             // the account or key does not exist
	Conflict             // it conflicts with existing accounts or keys
)

// Refusal is an error that the caller can correct. The message says how.
type Refusal struct {
	Kind    Kind
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind Kind, format string, args ...any) error {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}

// Open reads the accounts into a new book. start must have a monotonic reading: the
// quota clock counts from it.
func Open(store *accountstore.Store, plans []accounts.Plan, start time.Time) (*Registry, error) {
	r := &Registry{
		store: store, clock: accounts.NewClock(start),
		accounts: map[string]*account{}, keys: map[uint64]uint32{},
	}
	r.setPlans(plans)

	// The month is the clock's or the last month with a charge, whichever is later,
	// so that a clock set back does not grant a month twice.
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
	return r, r.fillBook(content)
}

func (r *Registry) setPlans(plans []accounts.Plan) {
	r.plans, r.terms = plans, map[string]*[2]*accounts.Terms{}
	for i := range plans {
		p := &plans[i]
		r.terms[p.ID] = &[2]*accounts.Terms{accounts.NewTerms(p, false), accounts.NewTerms(p, true)}
	}
}

// ReplacePlans replaces the plans for every account at once, on all nodes of a cluster.
// If an account has a plan that is not among them, it changes nothing. What an account
// has used this month stays used, and its keys stay active.
func (r *Registry) ReplacePlans(plans []accounts.Plan) error {
	_, err := inOrder(r, func() (struct{}, error) { return struct{}{}, r.replacePlans(plans) })
	return err
}

func (r *Registry) replacePlans(plans []accounts.Plan) error {
	for _, at := range r.ordered {
		if err := checkPlan(plans, &at.record); err != nil {
			return err
		}
	}
	if err := r.write(Change{Plans: plans}); err != nil {
		return err
	}

	r.setPlans(plans)
	for _, at := range r.ordered {
		r.setTerms(at)
	}
	return nil
}

// checkPlan returns an error if the plan of an account is not among plans.
func checkPlan(plans []accounts.Plan, a *accountstore.AccountRecord) error {
	if _, err := accounts.FindPlan(plans, a.Plan); err != nil {
		return fmt.Errorf("account %s: %w; add the plan to the configuration, or move the "+
			"account to another plan first", a.Name, err)
	}
	return nil
}

// fillBook puts the content of the store into the book.
func (r *Registry) fillBook(c *accountstore.Content) error {
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
			return fmt.Errorf("key %d belongs to account %d, which does not exist; run tidemark check",
				c.Keys[i].ID, c.Keys[i].Account)
		}
		r.addKey(at, &c.Keys[i])
	}
	return nil
}

// Book returns the book that the request path reads.
func (r *Registry) Book() *accounts.Book { return r.book }

// Clock returns the quota clock.
func (r *Registry) Clock() accounts.Clock { return r.clock }

// Turner returns what decides when a month begins. Only metering may use it.
func (r *Registry) Turner() *accounts.Turner { return r.turner }

// addAccount puts an account into the registry.
func (r *Registry) addAccount(record accountstore.AccountRecord) *account {
	at := &account{
		record: record,
		cell: accounts.NewCell(record.ID, record.Name, record.CreatedAt,
			r.termsOf(record.Plan, record.Suspended)),
	}
	r.accounts[record.Name] = at
	// Other nodes of a cluster may tell of a newer account first.
	i, _ := r.findID(record.ID)
	r.ordered = slices.Insert(r.ordered, i, at)
	return at
}

// findID returns the place of an account among the ordered ones.
func (r *Registry) findID(id uint64) (i int, found bool) {
	return slices.BinarySearchFunc(r.ordered, id, func(at *account, id uint64) int {
		return cmp.Compare(at.record.ID, id)
	})
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

// planNames lists the plans for which ok returns true, for messages.
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
