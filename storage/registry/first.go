package registry

import (
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// The first start makes the account demo and, on a terminal, prints a key for it.
// The label tells later that the key was printed: such a key must not protect a
// node that is reachable from the network.
const (
	// Demo is the account of a first start.
	Demo         = "demo"
	demoPlan     = "unlimited"
	printedLabel = "printed at the first start"
)

// CreateDemo makes the demo account if there is no account at all, with a server key
// to print if withKey is set. Both are written in one batch: a kill cannot leave an
// account without its key, or a key that was never printed.
func (r *Registry) CreateDemo(withKey bool) (key string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) > 0 {
		return "", nil
	}

	account, err := r.newAccount(Demo, demoPlan)
	if err != nil {
		return "", err
	}
	var records []storage.KeyRecord
	if withKey {
		var record storage.KeyRecord
		key, record, err = r.generateKey(account.ID, accounts.Server, printedLabel, nil)
		if err != nil {
			return "", err
		}
		records = append(records, record)
	}

	if err := r.store.Put([]storage.AccountRecord{account}, records); err != nil {
		return "", err
	}
	at := r.addAccount(account)
	for i := range records {
		r.addKey(at, &records[i])
	}
	return key, nil
}

// PrintedKey returns the id of an active key that was printed at the first start,
// empty if there is none.
func (r *Registry) PrintedKey() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.accounts[Demo]
	if at == nil {
		return ""
	}
	for _, k := range at.keys {
		if k.Label == printedLabel && k.RevokedAt() == 0 {
			return keyID(k.ID)
		}
	}
	return ""
}
