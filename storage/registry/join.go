package registry

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// Joined says what a node found when it joined the others.
type Joined struct {
	// Founded: no node had shared anything before; this one shared what it has.
	Founded bool
	// Apart names the accounts and keys of this node that the others do not have. They
	// are in Copy and no longer in the store.
	Apart []string
	Copy  string
	// Plans: the plans of the cluster differ from those configured, and are in force.
	Plans bool
}

const (
	// foundTimeout is how long a node waits for another one that shares its accounts as
	// the first.
	foundTimeout = 30 * time.Second
	foundPause   = 200 * time.Millisecond
)

// OpenShared is Open for a node of a cluster. The first node shares the accounts that it
// has. Every later one takes those of the cluster. If it has others, the whole store is
// copied first, because numbers of accounts may mean others now, and then begun anew.
func OpenShared(
	store *accountstore.Store, plans []accounts.Plan, start time.Time, with Sharing,
) (r *Registry, j Joined, err error) {
	content, err := store.Load(accounts.MonthAt(start.UnixNano()))
	if err != nil {
		return nil, j, err
	}

	for waited := time.Duration(0); ; waited += foundPause {
		changes, err := with.Read()
		if err != nil {
			return nil, j, err
		}
		if found := findPlans(changes); found != nil {
			j.Plans = !slices.Equal(found, plans)
			return openTaken(store, content, changes, found, start, with, j)
		}

		if isPartOf(changes, content) {
			r, err = found(store, plans, start, with, changes)
			if !errors.Is(err, ErrOutdated) {
				j.Founded = true
				return r, j, err
			}
		}
		if waited >= foundTimeout {
			return nil, j, errors.New("a node has begun to share its accounts with the cluster and has not " +
				"finished; start that node first")
		}
		time.Sleep(foundPause)
	}
}

// OpenKept is OpenShared for a node that cannot ask the others: it has the accounts that it
// had last, and nothing can be changed. Apply brings it up to date.
func OpenKept(
	store *accountstore.Store, plans []accounts.Plan, start time.Time, with Sharing,
) (*Registry, error) {
	r, err := Open(store, plans, start)
	if err == nil {
		r.share(with)
	}
	return r, err
}

// findPlans returns the plans of the cluster. They are shared last: without them the
// first node has not finished.
func findPlans(changes []Change) []accounts.Plan {
	for i := range changes {
		if changes[i].Plans != nil {
			return changes[i].Plans
		}
	}
	return nil
}

// openTaken opens the store of a node with the accounts of the cluster.
func openTaken(
	store *accountstore.Store, content *accountstore.Content, changes []Change,
	plans []accounts.Plan, start time.Time, with Sharing, j Joined,
) (*Registry, Joined, error) {
	if j.Apart = apartFrom(changes, content); len(j.Apart) > 0 {
		j.Copy = store.CopyName("alone", start)
		if err := errors.Join(store.Checkpoint(j.Copy), store.Clear()); err != nil {
			return nil, j, fmt.Errorf("cannot set the accounts apart that the cluster does not have: %w", err)
		}
		content = new(accountstore.Content)
	}

	// The accounts are brought up to date first: one may have a plan that is gone. Its keys
	// follow with the rest.
	if err := putNewer(store, content, changes); err != nil {
		return nil, j, err
	}
	r, err := Open(store, plans, start)
	if err != nil {
		return nil, j, err
	}
	r.share(with)
	return r, j, r.Apply(changes)
}

// putNewer writes the accounts that the cluster has changed to the store.
func putNewer(store *accountstore.Store, content *accountstore.Content, changes []Change) error {
	return putChanges(store, slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return c.Account == nil || slices.Contains(content.Accounts, *c.Account)
	}))
}

// found shares what a node has as the first. parts are what an earlier attempt has
// shared.
func found(
	store *accountstore.Store, plans []accounts.Plan, start time.Time, with Sharing, parts []Change,
) (*Registry, error) {
	r, err := Open(store, plans, start)
	if err != nil {
		return nil, err
	}
	r.share(with)
	if err := r.Apply(parts); err != nil {
		return nil, err
	}

	for _, at := range r.ordered {
		if err := r.publish(Change{Account: &at.record}); err != nil {
			return nil, err
		}
		for k := range r.keysOf(at) {
			record := recordOf(k, k.RevokedAt())
			if err := r.publish(Change{Key: &record}); err != nil {
				return nil, err
			}
		}
	}
	return r, r.publish(Change{Plans: plans})
}

// publish shares a record that this node has, unless the cluster has it.
func (r *Registry) publish(c Change) error {
	if r.shared.numbers[c.Name()] != 0 {
		return nil
	}
	number, err := r.shared.with.Publish(c, r.shared.last)
	if err == nil {
		r.shared.last, r.shared.numbers[c.Name()] = number, number
	}
	return err
}

func (r *Registry) share(with Sharing) {
	r.shared.with, r.shared.numbers = with, map[string]uint64{}
}

// sameAccount reports whether two records are of one account. Names are never reused
// within a millisecond.
func sameAccount(a, b *accountstore.AccountRecord) bool {
	return a.ID == b.ID && a.Name == b.Name && a.CreatedAt == b.CreatedAt
}

// isPartOf reports whether a node has everything that was shared.
func isPartOf(changes []Change, content *accountstore.Content) bool {
	for i := range changes {
		c, has := &changes[i], false
		switch {
		case c.Account != nil:
			has = slices.ContainsFunc(content.Accounts, func(a accountstore.AccountRecord) bool {
				return sameAccount(&a, c.Account)
			})
		case c.Key != nil:
			has = slices.ContainsFunc(content.Keys, func(k accountstore.KeyRecord) bool {
				return k.Hash == c.Key.Hash
			})
		}

		if !has {
			return false
		}
	}
	return true
}

// apartFrom names the accounts and keys of a node that the cluster does not have.
func apartFrom(changes []Change, content *accountstore.Content) (names []string) {
	records, keys := map[uint64]*accountstore.AccountRecord{}, map[uint64]*accountstore.KeyRecord{}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Account != nil:
			records[c.Account.ID] = c.Account
		case c.Key != nil:
			keys[c.Key.ID] = c.Key
		}
	}

	for i := range content.Accounts {
		a := &content.Accounts[i]
		if b := records[a.ID]; b == nil || !sameAccount(a, b) {
			names = append(names, a.Name)
		}
	}
	for i := range content.Keys {
		k := &content.Keys[i]
		if b := keys[k.ID]; b == nil || b.Hash != k.Hash {
			names = append(names, keyID(k.ID))
		}
	}
	return names
}
