package registry

import "tidemark/storage"

// A first start makes the account demo, and a key for it at the moment when
// somebody sees it. The key is known by its label later on: it was printed, so it
// must not be what stands between the data and a network.
const (
	// Demo is the account of a first start.
	Demo         = "demo"
	demoPlan     = "unlimited"
	printedLabel = "printed at the first start"
)

// CreateDemo makes the account of a first start when there is no account at
// all, and reports whether it did.
func (r *Registry) CreateDemo() (created bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ordered) > 0 {
		return false, nil
	}

	record, err := r.newAccount(Demo, demoPlan)
	if err != nil {
		return false, err
	}
	if err := r.store.Put([]storage.AccountRecord{record}, nil); err != nil {
		return false, err
	}
	r.addAccount(record)
	return true, nil
}

// IssueDemoKey issues the server key that a first start prints.
func (r *Registry) IssueDemoKey() (key string, err error) {
	issued, err := r.IssueKey(KeyRequest{Account: Demo, Label: printedLabel})
	return issued.Key, err
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
