package corpus

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Copy makes a data directory out of a corpus, without accounts. The corpus
// must not be in use.
func Copy(dir, to string) (err error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("cannot make a copy of %s: %w", dir, err)
	}
	store, err := storage.Open(filepath.Join(DataDir(dir), marketDir),
		storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(store.Checkpoint(filepath.Join(to, marketDir)), store.Close())
}

// Open returns the first chain of a corpus as it was published, cold: rows are
// read when they are looked at, until done. The corpus must not be in use.
func Open(dir string) (st *market.State, done func() error, err error) {
	store, err := storage.Open(filepath.Join(DataDir(dir), marketDir),
		storage.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	kept, err := store.Restore(market.ChainID(Chains[0].ID))
	if err == nil && kept == nil {
		err = fmt.Errorf("the corpus in %s has no chain %d", dir, Chains[0].ID)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return kept.State, store.Close, nil
}

const (
	accountsDir = "accounts"
	// putBatch bounds one synced batch of keys.
	putBatch = 2000
)

// Grant is a number of accounts of a plan that share a number of keys.
type Grant struct {
	Plan           string
	Accounts, Keys int
}

// AddKeys makes accounts in a data directory without any, and returns the keys
// of each grant.
func AddKeys(data string, grants []Grant) (issued [][]string, err error) {
	store, err := storage.OpenAccounts(filepath.Join(data, accountsDir),
		storage.AccountsOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	m := minter{store: store, random: bufio.NewReader(rand.Reader), now: time.Now().UnixMilli()}
	for i := range grants {
		keys, err := m.grant(&grants[i])
		if err != nil {
			return nil, err
		}
		issued = append(issued, keys)
	}
	return issued, nil
}

// minter makes accounts and keys with ascending ids.
type minter struct {
	store          *storage.Accounts
	random         *bufio.Reader
	now            int64
	account, keyID uint64 // the last of each
}

func (m *minter) grant(g *Grant) (keys []string, err error) {
	first := m.account + 1
	var owners []storage.AccountRecord
	for i := range g.Accounts {
		m.account++
		owners = append(owners, storage.AccountRecord{
			ID: m.account, Name: fmt.Sprintf("%s-%d", g.Plan, i+1), Plan: g.Plan, CreatedAt: m.now,
		})
	}
	if err := m.store.Put(owners, nil); err != nil {
		return nil, err
	}
	var records []storage.KeyRecord
	for i := range g.Keys {
		key, err := accounts.NewKey(m.random, accounts.Server)
		if err != nil {
			return nil, err
		}
		m.keyID++
		keys = append(keys, key)
		records = append(records, storage.KeyRecord{
			ID: m.keyID, Account: first + uint64(i%g.Accounts), Hash: accounts.HashKey([]byte(key)),
			Prefix: key[:accounts.PrefixLen], CreatedAt: m.now,
		})
		if len(records) == putBatch || i == g.Keys-1 {
			if err := m.store.Put(nil, records); err != nil {
				return nil, err
			}
			records = records[:0]
		}
	}
	return keys, nil
}

// Billed sums what the accounts of a stopped node were charged, since a time.
func Billed(data string, since time.Time) (units int64, err error) {
	store, err := storage.OpenAccounts(filepath.Join(data, accountsDir),
		storage.AccountsOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	last := accounts.MonthAt(time.Now().UnixNano())
	for m := accounts.MonthAt(since.UnixNano()); m <= last; m++ {
		content, err := store.Load(m)
		if err != nil {
			return 0, err
		}
		for i := range content.Months {
			units += content.Months[i].Billed()
		}
	}
	return units, nil
}
