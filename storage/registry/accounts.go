package registry

import (
	"regexp"
	"strings"
	"time"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// accountName matches allowed names. They are shown in paths and tables.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CreateAccount makes an account.
func (r *Registry) CreateAccount(name, plan string) (AccountView, error) {
	return inOrder(r, func() (AccountView, error) {
		at, err := r.createAccount(name, plan)
		if err != nil {
			return AccountView{}, err
		}
		return viewAccount(at), nil
	})
}

func (r *Registry) createAccount(name, plan string) (*account, error) {
	record, err := r.newAccount(name, plan)
	if err != nil {
		return nil, err
	}
	if err := r.write(Change{Account: &record}); err != nil {
		return nil, err
	}
	return r.addAccount(record), nil
}

// newAccount checks a request for an account and returns its record.
func (r *Registry) newAccount(name, plan string) (record accountstore.AccountRecord, err error) {
	if !accountName.MatchString(name) {
		return record, refuse(Invalid, "bad account name %q; it is 1 to 64 of a-z 0-9 . _ -, "+
			"and starts with a letter or digit", name)
	}
	if r.accounts[name] != nil {
		return record, refuse(Conflict, "account %q exists already; choose another name", name)
	}
	if _, err := accounts.FindPlan(r.plans, plan); err != nil {
		return record, refuse(Invalid, "%v", err)
	}

	id := uint64(1)
	if n := len(r.ordered); n > 0 {
		id = r.ordered[n-1].record.ID + 1
	}
	return accountstore.AccountRecord{ID: id, Name: name, Plan: plan, CreatedAt: nowMs()}, nil
}

// Suspend refuses every later request of an account.
func (r *Registry) Suspend(name string) (AccountView, error) { return r.setSuspended(name, true) }

// Resume undoes Suspend.
func (r *Registry) Resume(name string) (AccountView, error) { return r.setSuspended(name, false) }

func (r *Registry) setSuspended(name string, suspended bool) (AccountView, error) {
	return r.changeAccount(name, func(_ *account, record *accountstore.AccountRecord) error {
		record.Suspended = suspended
		return nil
	})
}

// SetPlan moves an account to another plan. The units used this month still count.
func (r *Registry) SetPlan(name, plan string) (AccountView, error) {
	return r.changeAccount(name, func(at *account, record *accountstore.AccountRecord) error {
		p, err := accounts.FindPlan(r.plans, plan)
		if err != nil {
			return refuse(Invalid, "%v", err)
		}
		record.Plan = plan
		return r.checkFits(at, p)
	})
}

// checkFits refuses a plan that the account's active keys exceed.
func (r *Registry) checkFits(at *account, p *accounts.Plan) error {
	var browser []string
	for k := range r.keysOf(at) {
		if k.RevokedAt() == 0 && k.Kind == accounts.Browser {
			browser = append(browser, keyID(k.ID))
		}
	}
	if len(browser) > 0 && !p.BrowserKeys {
		return refuse(Conflict, "plan %s has no browser keys; revoke %s of %s first",
			p.ID, strings.Join(browser, ", "), at.record.Name)
	}

	if at.active > p.MaxAPIKeys {
		return refuse(Conflict, "plan %s has at most %d keys and %s has %d; revoke %d of them first",
			p.ID, p.MaxAPIKeys, at.record.Name, at.active, at.active-p.MaxAPIKeys)
	}
	return nil
}

// changeAccount writes an account's edited record and applies it.
func (r *Registry) changeAccount(name string, edit func(*account, *accountstore.AccountRecord) error,
) (AccountView, error) {
	return inOrder(r, func() (AccountView, error) {
		at, err := r.findAccount(name)
		if err == nil {
			err = r.editRecord(at, edit)
		}
		if err != nil {
			return AccountView{}, err
		}
		return viewAccount(at), nil
	})
}

func (r *Registry) editRecord(at *account, edit func(*account, *accountstore.AccountRecord) error) error {
	record := at.record
	if err := edit(at, &record); err != nil || record == at.record {
		return err
	}
	if err := r.write(Change{Account: &record}); err != nil {
		return err
	}
	r.replaceRecord(at, &record)
	return nil
}

// replaceRecord applies an account's new record to the book. Origins are listed only
// while the account is active. They change before the new terms apply.
func (r *Registry) replaceRecord(at *account, record *accountstore.AccountRecord) {
	if record.Suspended != at.record.Suspended {
		r.listOrigins(at, record.Suspended)
	}
	at.record = *record
	r.setTerms(at)
}

// setTerms puts the terms of an account's record in force.
func (r *Registry) setTerms(at *account) {
	r.book.SetTerms(at.cell, r.termsOf(at.record.Plan, at.record.Suspended))
	r.book.FitBucket(at.cell, r.clock.At(time.Now()))
}

// listOrigins removes the origins of the account's active keys from the book
// of listed origins, or adds them again.
func (r *Registry) listOrigins(at *account, suspended bool) {
	by := int64(1)
	if suspended {
		by = -1
	}
	for k := range r.keysOf(at) {
		if k.RevokedAt() == 0 {
			r.book.CountOrigins(k, by)
		}
	}
}

// AccountList returns every account, by id.
func (r *Registry) AccountList() []AccountView {
	r.mu.Lock()
	defer r.mu.Unlock()
	views := make([]AccountView, len(r.ordered))
	for i, at := range r.ordered {
		views[i] = viewAccount(at)
	}
	return views
}

// Account returns an account with its keys and this month's usage.
func (r *Registry) Account(name string) (AccountDetail, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := r.findAccount(name)
	if err != nil {
		return AccountDetail{}, err
	}
	d := AccountDetail{AccountView: viewAccount(at), KeyList: make([]KeyView, 0, len(at.keys))}
	for k := range r.keysOf(at) {
		d.KeyList = append(d.KeyList, viewKey(k))
	}
	d.Usage, err = r.readUsage(at, r.book.Calendar().This.Month)
	return d, err
}

// Usage returns the usage of an account in a month, such as 2026-11, or in the
// current month if it is empty.
func (r *Registry) Usage(name, month string) (UsageView, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := r.findAccount(name)
	if err != nil {
		return UsageView{}, err
	}

	m := r.book.Calendar().This.Month
	if month != "" {
		if m, err = accounts.ParseMonth(month); err != nil {
			return UsageView{}, refuse(Invalid, "%v", err)
		}
	}

	return r.readUsage(at, m)
}

// readUsage reads a month. What the account's cell has of it is newer than the store.
func (r *Registry) readUsage(at *account, m accounts.Month) (UsageView, error) {
	stored, err := r.store.Month(at.record.ID, m)
	if err != nil {
		return UsageView{}, err
	}
	days, err := r.store.Days(&stored)
	if err != nil {
		return UsageView{}, err
	}

	tally, reserved := stored.Tally, stored.Reserved()
	if current, ok := at.cell.Tally(m); ok {
		tally, reserved = current, at.cell.Reserved(m)
	}
	if err := r.addElsewhere(at, &tally, &reserved); err != nil {
		return UsageView{}, err
	}
	return viewUsage(at, m, &tally, reserved, days), nil
}
