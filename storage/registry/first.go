package registry

// The first start makes the account demo and, on a terminal, issues a key for it
// when somebody can see it. The label tells later that the key was printed: such a
// key must not protect a node that is reachable from the network.
const (
	// Demo is the account of a first start.
	Demo         = "demo"
	demoPlan     = "unlimited"
	printedLabel = "printed at the first start"
)

// CreateDemo makes the demo account if there is no account at all, and reports
// whether it did.
func (r *Registry) CreateDemo() (created bool, err error) {
	return inOrder(r, func() (bool, error) {
		if len(r.ordered) > 0 {
			return false, nil
		}
		_, err := r.createAccount(Demo, demoPlan)
		return err == nil, err
	})
}

// IssueDemoKey issues the server key that a first start prints.
func (r *Registry) IssueDemoKey() (key string, err error) {
	issued, err := r.IssueKey(KeyRequest{Account: Demo, Label: printedLabel})
	return issued.Key, err
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
	for k := range r.keysOf(at) {
		if k.Label == printedLabel && k.RevokedAt() == 0 {
			return keyID(k.ID)
		}
	}
	return ""
}
