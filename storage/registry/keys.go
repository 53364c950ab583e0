package registry

import (
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// KeyRequest is a request for a new key.
type KeyRequest struct {
	Account string   `json:"account"`
	Kind    string   `json:"kind"` // server when empty
	Origins []string `json:"origins"`
	Label   string   `json:"label"`
}

// maxLabel is the maximum length of a label, in characters: it is shown in one
// column of a table.
const maxLabel = 100

// IssueKey makes a key. Only its answer contains the key.
func (r *Registry) IssueKey(q KeyRequest) (IssuedKey, error) {
	return inOrder(r, func() (IssuedKey, error) { return r.issueKey(q) })
}

func (r *Registry) issueKey(q KeyRequest) (IssuedKey, error) {
	at, err := r.findAccount(q.Account)
	if err != nil {
		return IssuedKey{}, err
	}
	kind := accounts.Server
	if q.Kind != "" {
		if kind, err = accounts.ParseKind(q.Kind); err != nil {
			return IssuedKey{}, refuse(Invalid, "%v", err)
		}
	}
	if err := r.checkKey(at, kind, q.Label); err != nil {
		return IssuedKey{}, err
	}
	origins, err := parseOrigins(kind, q.Origins)
	if err != nil {
		return IssuedKey{}, err
	}

	key, record := r.generateKey(at.record.ID, kind, q.Label, origins)
	if err := r.write(Change{Key: &record}); err != nil {
		return IssuedKey{}, err
	}
	return viewIssued(viewKey(r.addKey(at, &record)), key), nil
}

// checkKey checks a request for a key against the account's plan.
func (r *Registry) checkKey(at *account, kind accounts.Kind, label string) error {
	if n := utf8.RuneCountInString(label); n > maxLabel {
		return refuse(Invalid, "the label has %d characters; at most %d are allowed", n, maxLabel)
	}
	// Lists of keys print it as it is: it must not end a line or command a terminal.
	if at := strings.IndexFunc(label, unicode.IsControl); at >= 0 {
		return refuse(Invalid, "the label has a control character at byte %d", at)
	}
	plan := &at.cell.Terms().Plan
	if kind == accounts.Browser && !plan.BrowserKeys {
		return refuse(Conflict, "plan %s has no browser keys; issue a server key, or move %s to a "+
			"plan that has them first: %s", plan.ID, at.record.Name,
			r.planNames(func(p *accounts.Plan) bool { return p.BrowserKeys }))
	}

	if at.active < plan.MaxAPIKeys {
		return nil
	}
	more := r.planNames(func(p *accounts.Plan) bool {
		return p.MaxAPIKeys > at.active && (p.BrowserKeys || kind != accounts.Browser)
	})
	if more == "" {
		return refuse(Conflict, "%s has %s, and no plan allows another %s key; revoke one first",
			at.record.Name, countKeys(at.active), kind)
	}
	return refuse(Conflict, "%s has %s, the most of plan %s; revoke one, or move the "+
		"account to a plan with more: %s", at.record.Name, countKeys(at.active), plan.ID, more)
}

func countKeys(active int64) string {
	if active == 1 {
		return "1 active key"
	}
	return fmt.Sprintf("%d active keys", active)
}

// parseOrigins returns the origins of a key in canonical form, each once.
func parseOrigins(kind accounts.Kind, origins []string) ([]string, error) {
	switch {
	case kind == accounts.Server && len(origins) > 0:
		return nil, refuse(Invalid, "a server key has no origins; issue it with --kind browser")
	case kind == accounts.Browser && len(origins) == 0:
		return nil, refuse(Invalid, "a browser key needs at least one origin, as https://app.example.com")
	case len(origins) > accounts.MaxOrigins:
		return nil, refuse(Invalid, "too many origins: %d; a key lists at most %d",
			len(origins), accounts.MaxOrigins)
	}

	var canonical []string
	for _, o := range origins {
		c, err := accounts.CanonicalOrigin(o)
		if err != nil {
			return nil, refuse(Invalid, "%v", err)
		}
		if !slices.Contains(canonical, c) {
			canonical = append(canonical, c)
		}
	}
	return canonical, nil
}

// generateKey makes a key and its record. The request must have been checked.
func (r *Registry) generateKey(account uint64, kind accounts.Kind, label string, origins []string,
) (key string, record accountstore.KeyRecord) {
	key, _ = accounts.NewKey(rand.Reader, kind) // the system's random numbers never fail
	return key, accountstore.KeyRecord{
		ID: r.lastKey + 1, Account: account, Hash: accounts.HashKey([]byte(key)), Kind: kind,
		Origins: origins, Prefix: key[:accounts.PrefixLen], Label: label, CreatedAt: nowMs(),
	}
}

// addKey puts a key into the registry and the book.
func (r *Registry) addKey(at *account, record *accountstore.KeyRecord) *accounts.Key {
	number := r.book.Add(&accounts.Issued{
		ID: record.ID, Hash: record.Hash, Cell: at.cell, Kind: record.Kind,
		Origins: record.Origins, Prefix: accounts.PrefixOf(record.Prefix), Label: record.Label,
		CreatedAt: record.CreatedAt,
	}, record.RevokedAt, record.UsedMinute)

	at.keys = append(at.keys, number)
	if record.RevokedAt == 0 {
		at.active++
	}
	r.keys[record.ID] = number
	r.lastKey = max(r.lastKey, record.ID)
	return r.book.Key(number)
}

// findKey returns the key with an id, nil if there is none.
func (r *Registry) findKey(id uint64) *accounts.Key {
	if number, ok := r.keys[id]; ok {
		return r.book.Key(number)
	}
	return nil
}

// keysOf returns the keys of an account by id, revoked ones too.
func (r *Registry) keysOf(at *account) iter.Seq[*accounts.Key] {
	return func(yield func(*accounts.Key) bool) {
		for _, number := range at.keys {
			if !yield(r.book.Key(number)) {
				return
			}
		}
	}
}

// KeyList returns the keys of an account, or all keys if account is empty, by id.
func (r *Registry) KeyList(account string) ([]KeyView, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	views := []KeyView{}
	if account != "" {
		at, err := r.findAccount(account)
		if err != nil {
			return nil, err
		}
		for k := range r.keysOf(at) {
			views = append(views, viewKey(k))
		}
		return views, nil
	}

	for id := uint64(1); id <= r.lastKey; id++ {
		if k := r.findKey(id); k != nil {
			views = append(views, viewKey(k))
		}
	}
	return views, nil
}

// RevokeKey revokes a key for good. Revoking it again changes nothing.
func (r *Registry) RevokeKey(id string) (KeyView, error) {
	return inOrder(r, func() (KeyView, error) { return r.revokeKey(id) })
}

func (r *Registry) revokeKey(id string) (KeyView, error) {
	n, err := parseKeyID(id)
	k := r.findKey(n)
	if err != nil || k == nil {
		return KeyView{}, refuse(NotFound, "no key %q; tidemark keys list shows all keys", id)
	}
	if k.RevokedAt() != 0 {
		return viewKey(k), nil
	}

	at := nowMs()
	record := recordOf(k, at)
	if err := r.write(Change{Key: &record}); err != nil {
		return KeyView{}, err
	}
	r.revoke(k, at)
	return viewKey(k), nil
}

// revoke applies a revocation to the book.
func (r *Registry) revoke(k *accounts.Key, at int64) {
	r.book.Revoke(k, at)
	r.accounts[k.Cell.Name].active--
}

func recordOf(k *accounts.Key, revokedAt int64) accountstore.KeyRecord {
	return accountstore.KeyRecord{
		ID: k.ID, Account: k.Cell.ID, Hash: k.Hash, Kind: k.Kind, Origins: k.Origins,
		Prefix: k.Prefix.String(), Label: k.Label, CreatedAt: k.CreatedAt, RevokedAt: revokedAt,
	}
}

// A key's id is key_ and a number. Commands use it; requests never do.
const keyIDTag = "key_"

func keyID(n uint64) string { return keyIDTag + strconv.FormatUint(n, 10) }

func parseKeyID(s string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(s, keyIDTag), 10, 64)
}
