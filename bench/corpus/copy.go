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

	"tidemark/storage"
	"tidemark/storage/accounts"
)

// Where a data directory has the chains and the accounts.
const (
	marketDir   = "market"
	accountsDir = "accounts"
)

var quiet = slog.New(slog.DiscardHandler)

// OpenMarket opens the chains of a data directory that no node uses.
func OpenMarket(data string, readOnly bool) (*storage.Store, error) {
	return storage.Open(filepath.Join(data, marketDir), storage.Options{ReadOnly: readOnly, Logger: quiet})
}

// Compact compacts the store of a corpus, so that no node that is measured later
// does it.
func Compact(dir string) error {
	store, err := OpenMarket(DataDir(dir), false)
	if err != nil {
		return err
	}
	return errors.Join(store.Compact(), store.Close())
}

// Copy makes a data directory out of a corpus, without accounts. The corpus
// must not be in use.
func Copy(dir, to string) (err error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("cannot make a copy of %s: %w", dir, err)
	}

	store, err := OpenMarket(DataDir(dir), false)
	if err != nil {
		return err
	}
	return errors.Join(store.Checkpoint(filepath.Join(to, marketDir)), store.Close())
}

// Grant is a number of accounts of a plan that share a number of keys.
type Grant struct {
	Plan           string
	Accounts, Keys int
}

// AddKeys makes accounts in a data directory without any, and returns the keys
// of each grant.
func AddKeys(data string, grants []Grant) (issued [][]string, err error) {
	store, err := storage.OpenAccounts(filepath.Join(data, accountsDir),
		storage.AccountsOptions{Logger: quiet})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	random, now := bufio.NewReader(rand.Reader), time.Now().UnixMilli()
	account, key := uint64(0), uint64(0) // ids, ascending over all grants
	for _, g := range grants {
		var owners []storage.AccountRecord
		for i := range g.Accounts {
			owners = append(owners, storage.AccountRecord{
				ID: account + uint64(i) + 1, Name: fmt.Sprintf("%s-%d", g.Plan, i+1),
				Plan: g.Plan, CreatedAt: now,
			})
		}

		texts, records := make([]string, g.Keys), make([]storage.KeyRecord, g.Keys)
		for i := range texts {
			if texts[i], err = accounts.NewKey(random, accounts.Server); err != nil {
				return nil, err
			}
			key++
			records[i] = storage.KeyRecord{
				ID: key, Account: account + uint64(i%g.Accounts) + 1, CreatedAt: now,
				Hash: accounts.HashKey([]byte(texts[i])), Prefix: texts[i][:accounts.PrefixLen],
			}
		}
		if err := store.Put(owners, records); err != nil {
			return nil, err
		}
		account += uint64(g.Accounts)
		issued = append(issued, texts)
	}
	return issued, nil
}

// Billed sums what the accounts of a stopped node were charged, since a time.
func Billed(data string, since time.Time) (units int64, err error) {
	store, err := storage.OpenAccounts(filepath.Join(data, accountsDir),
		storage.AccountsOptions{Logger: quiet})
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
