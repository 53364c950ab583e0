package directory

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
	"tidemark/storage/registry"
)

// accountRecord and keyRecord are the values of the bucket. A key is stored as its hash.
type (
	accountRecord struct {
		ID        uint64 `json:"id"`
		Name      string `json:"name"`
		Plan      string `json:"plan"`
		Suspended bool   `json:"suspended"`
		CreatedAt int64  `json:"createdAt"`
	}
	keyRecord struct {
		ID        uint64   `json:"id"`
		Account   uint64   `json:"account"`
		Hash      string   `json:"hash"`
		Kind      string   `json:"kind"`
		Origins   []string `json:"origins,omitempty"`
		Prefix    string   `json:"prefix"`
		Label     string   `json:"label"`
		CreatedAt int64    `json:"createdAt"`
		RevokedAt int64    `json:"revokedAt"`
	}
)

// encode returns the value of a change.
func encode(c *registry.Change) ([]byte, error) {
	switch {
	case c.Account != nil:
		return json.Marshal((*accountRecord)(c.Account))
	case c.Key != nil:
		k := c.Key
		return json.Marshal(&keyRecord{
			ID: k.ID, Account: k.Account, Hash: hex.EncodeToString(k.Hash[:]), Kind: k.Kind.String(),
			Origins: k.Origins, Prefix: k.Prefix, Label: k.Label, CreatedAt: k.CreatedAt,
			RevokedAt: k.RevokedAt,
		})
	}
	return json.Marshal(c.Plans)
}

// decode reads the value of a key of the bucket.
func decode(name string, number uint64, value []byte) (c registry.Change, err error) {
	c.Number = number
	kind, known := "", false
	for _, kind = range []string{"account.", "key.", "plans"} {
		if known = len(name) >= len(kind) && name[:len(kind)] == kind; known {
			break
		}
	}

	switch {
	case !known:
		return c, fmt.Errorf("the bucket of accounts has a key %q, which this program does not know", name)
	case kind == "account.":
		c.Account = new(accountstore.AccountRecord)
		err = json.Unmarshal(value, (*accountRecord)(c.Account))
	case kind == "key.":
		c.Key, err = decodeKey(value)
	default:
		err = json.Unmarshal(value, &c.Plans)
	}

	if err == nil && c.Name() != name {
		err = fmt.Errorf("it is the record of %s", c.Name())
	}
	if err != nil {
		return c, fmt.Errorf("cannot read %s in the bucket of accounts: %w", name, err)
	}
	return c, nil
}

func decodeKey(value []byte) (*accountstore.KeyRecord, error) {
	var r keyRecord
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, err
	}
	k := &accountstore.KeyRecord{
		ID: r.ID, Account: r.Account, Origins: r.Origins, Prefix: r.Prefix, Label: r.Label,
		CreatedAt: r.CreatedAt, RevokedAt: r.RevokedAt,
	}

	var err error
	if k.Kind, err = accounts.ParseKind(r.Kind); err != nil {
		return nil, err
	}
	hash, err := hex.DecodeString(r.Hash)
	if err != nil || len(hash) != len(k.Hash) || len(r.Prefix) != accounts.PrefixLen {
		return nil, fmt.Errorf("key %d has the hash %q and the prefix %q", r.ID, r.Hash, r.Prefix)
	}
	copy(k.Hash[:], hash)
	return k, nil
}
