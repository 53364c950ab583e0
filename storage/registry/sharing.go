package registry

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// Change is a record as one of the nodes of a cluster has changed it. Exactly one of
// Account, Key and Plans is set.
type Change struct {
	Number  uint64 // in the order of the changes of all nodes
	Account *accountstore.AccountRecord
	Key     *accountstore.KeyRecord
	Plans   []accounts.Plan
}

// Name identifies the record: account.1, key.7 or plans.
func (c *Change) Name() string {
	switch {
	case c.Account != nil:
		return fmt.Sprint("account.", c.Account.ID)
	case c.Key != nil:
		return fmt.Sprint("key.", c.Key.ID)
	}
	return "plans"
}

// rank orders changes so that what a record names comes before it.
func (c *Change) rank() int {
	switch {
	case c.Plans != nil:
		return 0
	case c.Account != nil:
		return 1
	}
	return 2
}

// Sharing orders the changes of all nodes of a cluster.
type Sharing interface {
	// Publish stores a change and returns its number. If the last change of all nodes is
	// another one than after, it stores nothing and returns ErrOutdated.
	Publish(c Change, after uint64) (number uint64, err error)
	// Read returns the last change of every record, by number.
	Read() ([]Change, error)
}

// ErrOutdated is the error of a change on a node that has not seen the last change of
// another one.
var ErrOutdated = errors.New("another node has changed accounts or keys")

// shared is what a registry knows of the changes of all nodes.
type shared struct {
	with    Sharing           // nil: this node is alone
	last    uint64            // the last change that this node knows of
	numbers map[string]uint64 // the change of each record that this node has
	onPlans func([]accounts.Plan)
	usage   func(account uint64, m accounts.Month) (*accounts.Share, error)
}

// AddUsage has the usage of the other nodes added to that of this one. of asks them for a
// month of an account.
func (r *Registry) AddUsage(of func(account uint64, m accounts.Month) (*accounts.Share, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared.usage = of
}

// ReportUsage has metering look at every account that was used this month, so that the
// other nodes learn of it before the account is used here again.
func (r *Registry) ReportUsage() {
	r.mu.Lock()
	defer r.mu.Unlock()
	month := r.book.Calendar().This.Month
	for _, at := range r.ordered {
		if t, _ := at.cell.Tally(month); t.Lease > 0 {
			r.book.RenewLease(at.cell)
		}
	}
}

// addElsewhere adds what the other nodes have of a month.
func (r *Registry) addElsewhere(at *account, t *accounts.Tally, reserved *int64) error {
	if r.shared.usage == nil {
		return nil
	}
	s, err := r.shared.usage(at.record.ID, t.Month)
	if err != nil {
		return fmt.Errorf("cannot ask for the usage of the other nodes: %w", err)
	}
	s.Add(t)
	*reserved += s.Reserved
	return nil
}

// OnPlans has f called, with a lock held, when another node has replaced the plans.
func (r *Registry) OnPlans(f func([]accounts.Plan)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared.onPlans = f
}

// Plans returns the plans that are in force.
func (r *Registry) Plans() []accounts.Plan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plans
}

// maxAttempts bounds how often a change is tried again because another node was first.
const maxAttempts = 20

// inOrder makes a change with the lock held. In a cluster it is made after all changes of
// other nodes: if there are some that this node has not seen, it takes them and tries
// again. So nothing is refused either for what is no longer true.
func inOrder[T any](r *Registry, change func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range maxAttempts {
		known := r.shared.last
		v, err := change()

		var refusal *Refusal
		outdated := errors.Is(err, ErrOutdated)
		if r.shared.with == nil || !outdated && !errors.As(err, &refusal) {
			return v, err
		}
		if failed := r.catchUp(); outdated && failed != nil {
			return v, failed
		}
		if !outdated && r.shared.last == known {
			return v, err
		}
	}

	var none T
	return none, refuse(Conflict, "other nodes change accounts all the time; nothing was changed; try again")
}

// write makes a change durable: for all nodes first, if there are others, then here.
func (r *Registry) write(c Change) error {
	if r.shared.with == nil {
		return putChanges(r.store, []Change{c})
	}
	number, err := r.shared.with.Publish(c, r.shared.last)
	if err != nil {
		return err
	}

	// If this fails, the change is taken from the other nodes: last and numbers stay.
	if err := putChanges(r.store, []Change{c}); err != nil {
		return fmt.Errorf("the change is made for all nodes, and this one will follow: %w", err)
	}
	r.shared.last, r.shared.numbers[c.Name()] = number, number
	return nil
}

// putChanges writes accounts and keys to a store.
func putChanges(store *accountstore.Store, changes []Change) error {
	var records []accountstore.AccountRecord
	var keys []accountstore.KeyRecord
	for i := range changes {
		switch c := &changes[i]; {
		case c.Account != nil:
			records = append(records, *c.Account)
		case c.Key != nil:
			keys = append(keys, *c.Key)
		}
	}

	if len(records)+len(keys) == 0 {
		return nil
	}
	return store.Put(records, keys)
}

// catchUp takes all changes of other nodes.
func (r *Registry) catchUp() error {
	changes, err := r.shared.with.Read()
	if err != nil {
		return err
	}
	return r.apply(changes)
}

// Apply takes changes of other nodes, by number. Those that this node has change nothing.
func (r *Registry) Apply(changes []Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.apply(changes)
}

func (r *Registry) apply(changes []Change) error {
	var fresh []Change
	for _, c := range changes {
		if c.Number > r.shared.numbers[c.Name()] {
			fresh = append(fresh, c)
		}
	}
	if err := putChanges(r.store, r.different(fresh)); err != nil {
		return err
	}

	// A record may be older than what it names: a plan comes before the accounts that
	// have it, and an account before its keys.
	slices.SortStableFunc(fresh, func(a, b Change) int { return a.rank() - b.rank() })
	for i := range fresh {
		if err := r.take(&fresh[i]); err != nil {
			return err
		}
	}

	for i := range fresh {
		r.shared.numbers[fresh[i].Name()] = fresh[i].Number
		r.shared.last = max(r.shared.last, fresh[i].Number)
	}
	return nil
}

// different returns the changes that the store does not have, with revoked keys revoked:
// that is for good, also if other nodes have an older record.
func (r *Registry) different(changes []Change) (list []Change) {
	for _, c := range changes {
		switch {
		case c.Account != nil:
			if at := r.accounts[c.Account.Name]; at != nil && at.record == *c.Account {
				continue
			}
		case c.Key != nil:
			if k := r.findKey(c.Key.ID); k != nil && (k.RevokedAt() != 0 || c.Key.RevokedAt == 0) {
				continue
			}
		}

		list = append(list, c)
	}
	return list
}

// take puts a change that is in the store into registry and book.
func (r *Registry) take(c *Change) error {
	switch {
	case c.Plans != nil:
		r.takePlans(c.Plans)

	case c.Account != nil:
		if r.terms[c.Account.Plan] == nil {
			return fmt.Errorf("account %s has the plan %s, which the cluster does not have",
				c.Account.Name, c.Account.Plan)
		}
		at := r.accounts[c.Account.Name]
		if at == nil {
			r.addAccount(*c.Account)
		} else if at.record != *c.Account {
			r.replaceRecord(at, c.Account)
		}

	case c.Key != nil:
		k := r.findKey(c.Key.ID)
		if k != nil {
			if c.Key.RevokedAt != 0 && k.RevokedAt() == 0 {
				r.revoke(k, c.Key.RevokedAt)
			}
			return nil
		}
		at := r.accountByID(c.Key.Account)
		if at == nil {
			return fmt.Errorf("key %s belongs to account %d, which the cluster does not have",
				keyID(c.Key.ID), c.Key.Account)
		}
		r.addKey(at, c.Key)
	}
	return nil
}

// takePlans puts plans of the cluster in force. Accounts whose plan is not among them keep
// their terms; records that move them come with the same changes.
func (r *Registry) takePlans(plans []accounts.Plan) {
	r.setPlans(plans)
	for _, at := range r.ordered {
		if r.terms[at.record.Plan] != nil {
			r.setTerms(at)
		}
	}
	if r.shared.onPlans != nil {
		r.shared.onPlans(plans)
	}
}

// AccountName returns the name of an account, empty if there is none.
func (r *Registry) AccountName(id uint64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.accountByID(id); at != nil {
		return at.record.Name
	}
	return ""
}

func (r *Registry) accountByID(id uint64) *account {
	if i, found := r.findID(id); found {
		return r.ordered[i]
	}
	return nil
}
