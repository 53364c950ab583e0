package actors

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/storage"
	"tidemark/storage/accounts"
)

// KeyRequest asks for a key.
type KeyRequest struct {
	Account string   `json:"account"`
	Kind    string   `json:"kind"` // server when empty
	Origins []string `json:"origins"`
	Label   string   `json:"label"`
}

// maxLabel bounds a label, in characters: it stands in one column of a table.
const maxLabel = 100

// IssueKey makes a key. The answer is the only time that it is told.
func (a *Admin) IssueKey(q KeyRequest) (IssuedKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, err := a.find(q.Account)
	if err != nil {
		return IssuedKey{}, err
	}
	if q.Kind == "" {
		q.Kind = accounts.Server.String()
	}
	origins, err := a.allow(at, &q)
	if err != nil {
		return IssuedKey{}, err
	}
	key, record, err := a.draw(at.record.ID, &q, origins)
	if err != nil {
		return IssuedKey{}, err
	}
	if err := a.store.Put(nil, []storage.KeyRecord{record}); err != nil {
		return IssuedKey{}, err
	}
	return issued(viewKey(a.addKey(at, &record)), key), nil
}

// allow checks a request for a key against the account's plan, and returns
// its origins canonically.
func (a *Admin) allow(at *account, q *KeyRequest) ([]string, error) {
	kind, err := accounts.ParseKind(q.Kind)
	if err != nil {
		return nil, refuse(400, "%v", err)
	}
	if utf8.RuneCountInString(q.Label) > maxLabel {
		return nil, refuse(400, "the label has more than %d characters", maxLabel)
	}
	plan := &at.cell.Terms().Plan
	if kind == accounts.Browser && !plan.BrowserKeys {
		return nil, refuse(409, "plan %s has no browser keys; issue a server key, or move %s to a "+
			"plan that has them first: %s", plan.ID, at.record.Name,
			a.planNames(func(p *accounts.Plan) bool { return p.BrowserKeys }))
	}
	if err := a.roomForKey(at, plan); err != nil {
		return nil, err
	}
	return parseOrigins(kind, q.Origins)
}

// roomForKey refuses a key more than the plan allows.
func (a *Admin) roomForKey(at *account, plan *accounts.Plan) error {
	if at.active < plan.MaxAPIKeys {
		return nil
	}
	more := a.planNames(func(p *accounts.Plan) bool { return p.MaxAPIKeys > at.active })
	if more == "" {
		return refuse(409, "%s has %d active keys, the most there can be; revoke one first",
			at.record.Name, at.active)
	}
	return refuse(409, "%s has %d active keys, the most of plan %s; revoke one, or move the "+
		"account to a plan with more: %s", at.record.Name, at.active, plan.ID, more)
}

func parseOrigins(kind accounts.Kind, origins []string) ([]string, error) {
	switch {
	case kind == accounts.Server && len(origins) > 0:
		return nil, refuse(400, "a server key has no origins; issue it with --kind browser")
	case kind == accounts.Browser && len(origins) == 0:
		return nil, refuse(400, "a browser key needs at least one origin, as https://app.example.com")
	case len(origins) > accounts.MaxOrigins:
		return nil, refuse(400, "too many origins: %d; a key lists at most %d",
			len(origins), accounts.MaxOrigins)
	}
	var canonical []string
	for _, o := range origins {
		c, err := accounts.CanonicalOrigin(o)
		if err != nil {
			return nil, refuse(400, "%v", err)
		}
		if !slices.Contains(canonical, c) {
			canonical = append(canonical, c)
		}
	}
	return canonical, nil
}

// draw makes a key that was checked, and its record.
func (a *Admin) draw(account uint64, q *KeyRequest, origins []string,
) (key string, r storage.KeyRecord, err error) {
	kind, err := accounts.ParseKind(q.Kind)
	if err != nil {
		return "", r, err
	}
	if key, err = accounts.NewKey(rand.Reader, kind); err != nil {
		return "", r, err
	}
	return key, storage.KeyRecord{
		ID: a.lastKey + 1, Account: account, Hash: accounts.HashKey([]byte(key)), Kind: kind,
		Origins: origins, Prefix: key[:accounts.PrefixLen], Label: q.Label, CreatedAt: nowMs(),
	}, nil
}

// addKey puts a key into the book.
func (a *Admin) addKey(at *account, r *storage.KeyRecord) *accounts.Key {
	k := &accounts.Key{
		ID: r.ID, Hash: r.Hash, Cell: at.cell, Kind: r.Kind, Origins: r.Origins,
		Prefix: r.Prefix, Label: r.Label, CreatedAt: r.CreatedAt,
	}
	at.keys = append(at.keys, k)
	if r.RevokedAt == 0 {
		at.active++
	}
	a.keys[k.ID] = k
	a.lastKey = max(a.lastKey, k.ID)
	a.book.Add(k, r.RevokedAt, r.UsedMinute)
	return k
}

// KeyList is every key of an account, or of all when it is empty, by id.
func (a *Admin) KeyList(account string) ([]KeyView, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	views := []KeyView{}
	for id := uint64(1); id <= a.lastKey && account == ""; id++ {
		if k := a.keys[id]; k != nil {
			views = append(views, viewKey(k))
		}
	}
	if account == "" {
		return views, nil
	}
	at, err := a.find(account)
	if err != nil {
		return nil, err
	}
	for _, k := range at.keys {
		views = append(views, viewKey(k))
	}
	return views, nil
}

// RevokeKey ends a key for good. Revoking it again changes nothing.
func (a *Admin) RevokeKey(id string) (KeyView, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := parseKeyID(id)
	k := a.keys[n]
	if err != nil || k == nil {
		return KeyView{}, refuse(404, "no key %q; tidemark keys list shows those there are", id)
	}
	if k.RevokedAt() != 0 {
		return viewKey(k), nil
	}
	at := nowMs()
	if err := a.store.Put(nil, []storage.KeyRecord{recordOf(k, at)}); err != nil {
		return KeyView{}, err
	}
	a.book.Revoke(k, at)
	a.accounts[k.Cell.Name].active--
	return viewKey(k), nil
}

func recordOf(k *accounts.Key, revokedAt int64) storage.KeyRecord {
	return storage.KeyRecord{
		ID: k.ID, Account: k.Cell.ID, Hash: k.Hash, Kind: k.Kind, Origins: k.Origins,
		Prefix: k.Prefix, Label: k.Label, CreatedAt: k.CreatedAt, RevokedAt: revokedAt,
	}
}

// A key's id is key_ and a number; it names the key in commands, never in
// requests.
const keyIDTag = "key_"

func keyID(n uint64) string { return keyIDTag + strconv.FormatUint(n, 10) }

func parseKeyID(s string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(s, keyIDTag), 10, 64)
}
