package corpus

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
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

// Compact compacts the store of a corpus.
func Compact(dir string) error {
	store, err := OpenMarket(DataDir(dir), false)
	if err != nil {
		return err
	}
	return errors.Join(store.Compact(), store.Close())
}

// Copy makes a data directory out of a corpus that is not in use, without accounts. Its
// files are read once, so that the operating system has them in memory if it can: how fast
// a disk is, and what it costs the kernel to wait for it, is not what is measured.
func Copy(dir, to string) (err error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("cannot make a copy of %s: %w", dir, err)
	}

	store, err := OpenMarket(DataDir(dir), false)
	if err != nil {
		return err
	}
	err = errors.Join(store.Checkpoint(filepath.Join(to, marketDir)), store.Close())
	if err != nil {
		return err
	}
	_, err = readFiles(to)
	return err
}

// readFiles reads all files in a directory, and returns how many bytes they have.
func readFiles(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}

		n, err := io.Copy(io.Discard, f)
		bytes += n
		return errors.Join(err, f.Close())
	})

	if err != nil {
		return bytes, fmt.Errorf("cannot read the files of %s: %w", dir, err)
	}
	return bytes, nil
}

// Grant is a number of accounts of a plan that share a number of keys.
type Grant struct {
	Plan           string
	Accounts, Keys int
}

// withAccounts opens the accounts of a data directory that no node uses.
func withAccounts(data string, f func(*accountstore.Store) error) error {
	store, err := accountstore.Open(filepath.Join(data, accountsDir),
		accountstore.Options{Logger: quiet})
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close())
}

// AddKeys makes the first accounts in a data directory, and returns the keys of each grant.
func AddKeys(data string, grants []Grant) (issued [][]string, err error) {
	random, now := bufio.NewReader(rand.Reader), time.Now().UnixMilli()
	var owners []accountstore.AccountRecord
	var keys []accountstore.KeyRecord

	for _, g := range grants {
		before := len(owners) // ids ascend over all grants
		for i := range g.Accounts {
			owners = append(owners, accountstore.AccountRecord{
				ID: uint64(before + i + 1), Name: fmt.Sprintf("%s-%d", g.Plan, i+1), Plan: g.Plan, CreatedAt: now,
			})
		}
		texts := make([]string, g.Keys)
		for i := range texts {
			if texts[i], err = accounts.NewKey(random, accounts.Server); err != nil {
				return nil, err
			}
			keys = append(keys, accountstore.KeyRecord{
				ID: uint64(len(keys) + 1), Account: owners[before+i%g.Accounts].ID, CreatedAt: now,
				Hash: accounts.HashKey([]byte(texts[i])), Prefix: texts[i][:accounts.PrefixLen],
			})
		}
		issued = append(issued, texts)
	}
	return issued, withAccounts(data, func(store *accountstore.Store) error { return store.Put(owners, keys) })
}

// Billed sums what the accounts of a stopped node were charged, since a time.
func Billed(data string, since time.Time) (units int64, err error) {
	err = withAccounts(data, func(store *accountstore.Store) error {
		last := accounts.MonthAt(time.Now().UnixNano())

		for m := accounts.MonthAt(since.UnixNano()); m <= last; m++ {
			content, err := store.Load(m)
			if err != nil {
				return err
			}
			for i := range content.Months {
				units += content.Months[i].Billed()
			}
		}
		return nil
	})
	return units, err
}
