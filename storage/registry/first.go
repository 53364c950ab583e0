package registry

import (
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// A first start makes the account demo, and a key for it where somebody sees
// it. The key is known by its label later on: it was printed, so it must not
// be what stands between the data and a network.
const (
	// Demo is the account of a first start.
	Demo         = "demo"
	demoPlan     = "unlimited"
	printedLabel = "printed at the first start"
)

// CreateDemo makes the account of a first start when there is no account at
// all, with a server key that is to be printed if withKey says so. Both are
// written together: a kill in between leaves neither an account without its
// key nor a key that nobody was shown.
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
		key, record, err = r.drawKey(account.ID, accounts.Server, printedLabel, nil)
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

// PrintedKey returns the id of a key that was printed at a first start and is
// active; empty when there is none.
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
