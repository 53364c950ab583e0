package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/storage"
	"tidemark/storage/accountstore"
	"tidemark/storage/database"
)

// lastBackupFile notes in the data directory where the last backup was written,
// for the day on which somebody asks what to restore.
const lastBackupFile = "last-backup"

func noteBackup(data, dir string) error {
	text := time.Now().UTC().Format(time.RFC3339) + " " + dir + "\n"
	return os.WriteFile(filepath.Join(data, lastBackupFile), []byte(text), 0o600)
}

// lastBackup returns where the last backup of a data directory is, and when it
// was made; empty when there is none any more.
func lastBackup(data string) (dir, at string) {
	text, err := os.ReadFile(filepath.Join(data, lastBackupFile))
	if err != nil {
		return "", ""
	}
	at, dir, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	if _, err := os.Stat(dir); err != nil {
		return "", ""
	}
	return dir, at
}

// restoreAdvice says which backup to restore, and how.
func restoreAdvice(data string) string {
	dir, at := lastBackup(data)
	if dir == "" {
		return fmt.Sprintf("restore a backup (none is known): move %s away, then "+
			"`tidemark restore BACKUP --data %s`", data, shellWord(data))
	}
	return fmt.Sprintf("restore the backup of %s: move %s away, then `tidemark restore %s --data %s`",
		at, data, shellWord(dir), shellWord(data))
}

// adviseMarket adds the way out to an error of a market store that is damaged as a
// whole, or in a format that this build does not read. Every other error is
// returned as it is.
func adviseMarket(data string, err error) error {
	switch {
	case errors.Is(err, storage.ErrFormat):
		return fmt.Errorf("%w; start the build that wrote it, or move %s away and start again: "+
			"the chains are indexed anew, and accounts, keys and usage stay",
			err, filepath.Join(data, marketDir))

	case errors.Is(err, storage.ErrDamaged), database.FindTableDamage(err) != nil:
		return fmt.Errorf("%w; when a node starts, it moves the damaged files to %s.damaged and builds "+
			"the chains again from their feeds; or %s", err, filepath.Join(data, marketDir), restoreAdvice(data))
	}
	return err
}

// adviseAccounts adds the way out to an error of the accounts' store that an
// operator has to decide on; every other error is returned as it is.
func adviseAccounts(data string, err error) error {
	var lost *accountstore.Lost
	var damage *accountstore.Damage
	switch {
	case errors.As(err, &lost):
		return fmt.Errorf("%w; %s; or accept the loss with `tidemark serve --accept-lost-accounts`",
			err, restoreAdvice(data))
	case errors.As(err, &damage):
		return fmt.Errorf("%w; %s; without a backup, move %s away and start with "+
			"`tidemark serve --accept-lost-accounts`: all accounts, keys and usage are lost then",
			err, restoreAdvice(data), filepath.Join(data, accountsDir))
	}
	return err
}
